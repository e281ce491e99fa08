package export

import (
	"strconv"

	"github.com/git-smithers/git-smithers/peer/smithers/jsonobject"
)

// durabilityKey is the member of config_json by which Smithers knows the workflow file with which it may resume a run.
const durabilityKey = "__smithersDurability"

// The versions of this member. With entryVersion, Smithers compares workflow_hash with the hash of the workflow file
// alone. With graphVersion, which Smithers itself writes, it compares workflow_hash with a hash over the absolute
// paths and contents of all modules.
const (
	entryVersion = 1
	graphVersion = 2
)

// blessed returns a config_json with which Smithers resumes a run in a folder, if the workflow file has the hash
// entry and the run's workflow_hash is the one for the version. All other members are kept, unless config is not an
// object.
func blessed(config, folder string, version int, entry string) string {
	members, err := jsonobject.Parse([]byte(config))
	if err != nil {
		members = nil
	}
	members = jsonobject.With(members, jsonobject.NewMember("rootDir", jsonobject.Quote(folder)))
	mark := `{"version":` + strconv.Itoa(version) + `,"entryWorkflowHash":` + jsonobject.Quote(entry) + `}`
	return string(jsonobject.Join(jsonobject.With(members, jsonobject.NewMember(durabilityKey, mark))))
}
