package export

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
)

// durabilityKey is the member of config_json that has the hash of the workflow file. Smithers resumes a run only
// with a file of that hash.
const durabilityKey = "__smithersDurability"

// The versions of the member durabilityKey. With entryVersion, Smithers compares workflow_hash with the hash of the
// workflow file alone. With graphVersion, which Smithers itself writes, Smithers compares workflow_hash with a hash
// over the absolute paths and contents of all modules.
const (
	entryVersion = 1
	graphVersion = 2
)

// blessed returns config, the text of config_json, with two members set: rootDir to folder, and durabilityKey
// to an object with version and with entry, the hash of the workflow file. Smithers then resumes the run in
// folder, if the run's workflow_hash is the hash for the version. blessed keeps all other members. If config is
// not an object, blessed returns a new object with only the two members.
func blessed(config, folder string, version int, entry string) string {
	members, err := jsonobject.Parse([]byte(config))
	if err != nil {
		members = nil
	}
	members = jsonobject.With(members, jsonobject.NewMember("rootDir", jsonobject.Quote(folder)))
	mark := `{"version":` + strconv.Itoa(version) + `,"entryWorkflowHash":` + jsonobject.Quote(entry) + `}`
	return string(jsonobject.Join(jsonobject.With(members, jsonobject.NewMember(durabilityKey, mark))))
}
