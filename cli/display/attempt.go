package display

import (
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
)

// AttemptKey is the key of an attempt in words.
func AttemptKey(key string) string {
	node, iteration, attempt, err := snapshot.SplitAttemptKey(key)
	if err != nil {
		return key
	}
	return AttemptName(node, iteration) + ", attempt " + strconv.Itoa(attempt)
}

// AttemptName is a node, and its iteration where it is in a loop.
func AttemptName(node string, iteration int) string {
	if iteration > 0 {
		return fmt.Sprintf("%s, iteration %d", node, iteration)
	}
	return node
}

// BesideNames are attempts that ran in the same files, for people.
func BesideNames(keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = AttemptKey(key)
	}
	return List(names)
}
