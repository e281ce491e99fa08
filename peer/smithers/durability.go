package smithers

import (
	"slices"
	"strconv"
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
	members, err := membersOf([]byte(config))
	if err != nil {
		members = nil
	}
	members = withMember(members, newMember("rootDir", quoted(folder)))
	mark := `{"version":` + strconv.Itoa(version) + `,"entryWorkflowHash":` + quoted(entry) + `}`
	return string(objectOf(withMember(members, newMember(durabilityKey, mark))))
}

// withMember sets a member, in its place or at the end.
func withMember(members []member, set member) []member {
	at := slices.IndexFunc(members, func(m member) bool { return m.name == set.name })
	if at < 0 {
		return append(members, set)
	}
	members[at] = set
	return members
}
