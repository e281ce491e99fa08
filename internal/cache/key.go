package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Names of the parts of a key. The parts of inputs and files begin with the prefixes.
const (
	PartWorkflow = "workflow" // the name
	PartNode     = "node"     // the id of the task
	PartCommand  = "command"
	PartEnv      = "env"
	PartSandbox  = "sandbox"
	PartSchema   = "schema" // of the output
	PartVersion  = "version"
	PartModel    = "model"
	PartTools    = "tools" // sorted, with commas between them
	PartFiles    = "files" // the tree of the whole working copy

	PrefixInput    = "input."    // a member of the run's input
	PrefixNeeds    = "needs."    // the output of a task that the task needs
	PrefixPrevious = "previous." // the output of a task of the loop in the iteration before
	PrefixBy       = "by "       // the value of an expression
	PrefixFiles    = "files "    // the file or folder at a path
)

// Key has everything on which the result of a task depends: a value for each part. Short values stand for themselves, others are
// their SHA-256 in hex, or the id of a git object.
type Key map[string]string

// Digest returns the SHA-256 of data in hex, as a value of a part.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Sum returns the name of the entry with this key: the SHA-256, in hex, of the line "git-smithers cache key 1" and of the key as JSON
// with sorted members and without white space. Keys with equal parts have equal sums.
func (k Key) Sum() string {
	text, _ := json.Marshal(map[string]string(k)) //nolint:errchkjson // texts encode always
	return Digest(append([]byte("git-smithers cache key 1\n"), text...))
}

// Differing returns the names of the parts that only one of two keys has, or that differ, sorted.
func (k Key) Differing(other Key) []string {
	names := make(map[string]bool)
	for name, value := range k {
		if had, ok := other[name]; !ok || had != value {
			names[name] = true
		}
	}
	for name := range other {
		if _, ok := k[name]; !ok {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
