package smithers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// entryHash is the hash of a workflow file; "" where there is no such file, whatever else is there.
func entryHash(file string) (string, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	return hexSum(strings.ToValidUTF8(string(data), "\ufffd")), nil
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

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

// vcsAt is the repository of a folder as Smithers finds it: the nearest folder above that has .jj
// or .git, whatever that is. Both are "" where there is none.
func vcsAt(folder string) (top, kind string) {
	for dir := filepath.Clean(folder); ; dir = filepath.Dir(dir) {
		for _, kind := range []string{"jj", "git"} {
			if _, err := os.Stat(filepath.Join(dir, "."+kind)); err == nil {
				return dir, kind
			}
		}
		if dir == filepath.Dir(dir) {
			return "", ""
		}
	}
}
