package snapshot

import (
	"errors"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// keySeparator separates the parts of a row's key.
const keySeparator = "::"

// Key returns the key of the row of a node, or of a node's output: "nodeId::iteration".
func Key(nodeID string, iteration int) string {
	return nodeID + keySeparator + strconv.Itoa(iteration)
}

// SplitKey returns the node id and the iteration in a key that Key returned. It splits at the last "::",
// because a node id may contain "::". If Key cannot have returned the key, the error wraps ErrInvalid.
func SplitKey(key string) (nodeID string, iteration int, err error) {
	i := strings.LastIndex(key, keySeparator)
	if i <= 0 {
		return "", 0, invalid("key %q: not nodeId::iteration", key)
	}
	n, ok := parseOrdinal(key[i+len(keySeparator):])
	if !ok {
		return "", 0, invalid("key %q: not nodeId::iteration", key)
	}
	return key[:i], n, nil
}

// parseOrdinal returns the number in s, and true. It returns false if s is not a decimal number from 0 to
// row.MaxInteger, or has a leading zero.
func parseOrdinal(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= row.MaxInteger && strconv.Itoa(n) == s
}

// AttemptKey returns the key of the rows of an attempt and of its log: "nodeId::iteration::attempt".
func AttemptKey(nodeID string, iteration, attempt int) string {
	return Key(nodeID, iteration) + keySeparator + strconv.Itoa(attempt)
}

// SplitAttemptKey returns the node id, the iteration and the attempt in a key that AttemptKey returned. If
// AttemptKey cannot have returned the key, the error wraps ErrInvalid.
func SplitAttemptKey(key string) (nodeID string, iteration, attempt int, err error) {
	node, number, found := cutLast(key)
	attempt, ok := parseOrdinal(number)
	if !found || !ok || attempt < 1 {
		return "", 0, 0, invalid("key %q: not nodeId::iteration::attempt", key)
	}
	if nodeID, iteration, err = SplitKey(node); err != nil {
		return "", 0, 0, invalid("key %q: not nodeId::iteration::attempt", key)
	}
	return nodeID, iteration, attempt, nil
}

// cutLast splits a key around its last separator. Without a separator, before is the key, after is "" and found is false.
func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndex(s, keySeparator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(keySeparator):], true
}

// nodeKey describes the key of rows of type T that belong to a node at one iteration: how to build, split and check
// the key. at returns pointers to the node id and the iteration in a value of type T.
func nodeKey[T any](at func(*T) (nodeID *string, iteration *int)) row.Key[T] {
	return row.Key[T]{
		Of: func(v *T) string {
			nodeID, iteration := at(v)
			return Key(*nodeID, *iteration)
		},
		Split: func(v *T, key string) (err error) {
			nodeID, iteration := at(v)
			*nodeID, *iteration, err = SplitKey(key)
			return err
		},
		Fields: []row.Field[T]{
			row.Text("nodeId", func(v *T) *string {
				nodeID, _ := at(v)
				return nodeID
			}),
			row.Int("iteration", func(v *T) *int {
				_, iteration := at(v)
				return iteration
			}),
		},
		Missing: func(v *T) error {
			nodeID, iteration := at(v)
			switch {
			case *nodeID == "":
				return errors.New("nodeId: missing")
			case *iteration < 0 || *iteration > row.MaxInteger:
				return errors.New("iteration: out of range")
			}
			return nil
		},
		Title: func(v *T) string {
			nodeID, _ := at(v)
			return *nodeID
		},
	}
}
