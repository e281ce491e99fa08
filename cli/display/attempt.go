package display

import (
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
)

// AttemptKey returns the key of an attempt in words. It returns a malformed key unchanged.
func AttemptKey(key string) string {
	node, iteration, attempt, err := snapshot.SplitAttemptKey(key)
	if err != nil {
		return key
	}
	return AttemptName(node, iteration) + ", attempt " + strconv.Itoa(attempt)
}

// AttemptName returns the id of a node, with the iteration if it is above 0.
func AttemptName(node string, iteration int) string {
	if iteration > 0 {
		return fmt.Sprintf("%s, iteration %d", node, iteration)
	}
	return node
}

// BesideNames returns a list for people of attempts that ran in the same files.
func BesideNames(keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = AttemptKey(key)
	}
	return List(names)
}
