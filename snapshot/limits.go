package snapshot

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// The default limits of callers' data; see Limits.
const (
	DefaultDepth = 1000          // levels of arrays and objects
	DefaultKey   = 1 << 10       // bytes
	DefaultValue = page.MaxValue // bytes
)

// Limits bound the data that callers hand in. A zero field means its default. Limits cannot exceed the bounds
// of the format: page.MaxKey bytes for keys and page.MaxValue bytes for values. Limits do not apply to stored
// data.
type Limits struct {
	Depth int // nesting of arrays and objects in a JSON value
	Key   int // bytes of a row's key
	Value int // bytes of a JSON value
}

// orDefault returns a copy of l. In the copy, a field that is not positive has its default, and a field that exceeds
// the format's bound has the bound.
func (l Limits) orDefault() Limits {
	bound := func(limit, standard, most int) int {
		if limit <= 0 {
			limit = standard
		}
		return min(limit, most)
	}
	return Limits{
		Depth: bound(l.Depth, DefaultDepth, maxDepth),
		Key:   bound(l.Key, DefaultKey, page.MaxKey),
		Value: bound(l.Value, DefaultValue, page.MaxValue),
	}
}

// Maximum sizes in bytes of an entry's parts. They are checked before an object is read.
const (
	maxCommit   = 1 << 20
	maxDocument = 64 << 20 // run.json and vcs.json
	maxEvents   = 1 << 29  // of one entry
	maxSchemas  = 1 << 29  // all schemas of a workflow
)

// maxDepth is the deepest nesting that the format and encoding/json allow.
const maxDepth = 10000

// CheckDepth returns an error that wraps ErrLimit if arrays and objects in data are nested deeper than
// DefaultDepth. data need not be valid JSON. CheckDepth reads data once, without recursion.
func CheckDepth(data []byte) error { return checkDepth(data, DefaultDepth) }

// CheckKey returns an error that wraps ErrLimit if a row's key is longer than l.Key.
func (l Limits) CheckKey(key string) error {
	if limit := l.orDefault().Key; len(key) > limit {
		return fmt.Errorf("%w: the key has %d bytes, the maximum is %d", ErrLimit, len(key), limit)
	}
	return nil
}

// CheckSize returns an error that wraps ErrLimit if a JSON value is larger than l.Value, or nested deeper than
// l.Depth. It does not check that the value is valid JSON.
func (l Limits) CheckSize(value []byte) error {
	l = l.orDefault()
	if len(value) > l.Value {
		return fmt.Errorf("%w: the value has %d bytes, the maximum is %d", ErrLimit, len(value), l.Value)
	}
	return checkDepth(value, l.Depth)
}

// CheckValue returns an error if value exceeds the limits, or is not a single JSON value in UTF-8 without white space
// around it. The error wraps ErrInvalid.
func (l Limits) CheckValue(value []byte) error {
	if err := l.CheckSize(value); err != nil {
		return err
	}
	if !jsontext.Valid(value) {
		return invalid("must be a single JSON value in UTF-8 without white space around it")
	}
	return nil
}

// checkDepth returns an error that wraps ErrLimit if arrays and objects in data are nested deeper than limit.
// data need not be valid JSON.
func checkDepth(data []byte, limit int) error {
	if jsontext.DeeperThan(data, limit) {
		return fmt.Errorf("%w: the JSON is nested more than %d levels deep", ErrLimit, limit)
	}
	return nil
}
