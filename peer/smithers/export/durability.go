package export

import (
	"strconv"

	"github.com/git-smithers/git-smithers/peer/smithers/jsonobject"
)

// durabilityKey is the member of config_json by which Smithers knows which workflow file a
// run may be resumed with.
const durabilityKey = "__smithersDurability"

// The versions of what it says. By the first, Smithers compares workflow_hash with the hash of the workflow file
// alone. By the second, which it writes itself, it compares a hash over the absolute paths and contents of all modules.
const (
	entryVersion = 1
	graphVersion = 2
)

// blessed is a config_json with which Smithers resumes a run in a folder, if the hash of the workflow file is entry,
// and the run's workflow_hash what the version says. All other members stay as they are, unless config is no object.
func blessed(config, folder string, version int, entry string) string {
	members, err := jsonobject.Parse([]byte(config))
	if err != nil {
		members = nil
	}
	members = jsonobject.With(members, jsonobject.NewMember("rootDir", jsonobject.Quote(folder)))
	mark := `{"version":` + strconv.Itoa(version) + `,"entryWorkflowHash":` + jsonobject.Quote(entry) + `}`
	return string(jsonobject.Join(jsonobject.With(members, jsonobject.NewMember(durabilityKey, mark))))
}
