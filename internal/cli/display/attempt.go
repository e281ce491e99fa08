package display

import (
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
)

// AttemptKey returns the key of an attempt in words, such as "fix, iteration 2, attempt 1". It returns a malformed
// key unchanged.
func AttemptKey(key string) string {
	node, iteration, attempt, err := snapshot.SplitAttemptKey(key)
	if err != nil {
		return key
	}
	return AttemptName(node, iteration) + ", attempt " + strconv.Itoa(attempt)
}

// AttemptName returns the id of a node and, if the iteration is above 0, the iteration, such as "fix, iteration 2".
func AttemptName(node string, iteration int) string {
	if iteration > 0 {
		return fmt.Sprintf("%s, iteration %d", node, iteration)
	}
	return node
}

// BesideNames returns a list of attempts for people, such as "plan (attempt 1), fix (iteration 2, attempt 1)". keys has
// the keys of the attempts. A malformed key appears unchanged. List shortens a long list.
func BesideNames(keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key
		node, iteration, attempt, err := snapshot.SplitAttemptKey(key)
		switch {
		case err != nil:
		case iteration > 0:
			names[i] = fmt.Sprintf("%s (iteration %d, attempt %d)", node, iteration, attempt)
		default:
			names[i] = fmt.Sprintf("%s (attempt %d)", node, attempt)
		}
	}
	return List(names)
}
