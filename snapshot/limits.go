package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore/page"
)

// The default limits of what is taken in.
const (
	DefaultDepth = 1000
	DefaultKey   = 1 << 10
	DefaultValue = page.MaxValue
)

// Limits bound what is taken in. A field that is zero stands for its default.
// They cannot raise what the format itself bounds: keys to page.MaxKey and values
// to page.MaxValue bytes. They say nothing about what is stored already.
type Limits struct {
	Depth int // nesting of arrays and objects in a JSON value
	Key   int // bytes of a row's key
	Value int // bytes of a JSON value
}

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

// The sizes in bytes of what an entry has. They are looked at before an object is read.
const (
	maxCommit   = 1 << 20
	maxDocument = 64 << 20 // run.json and vcs.json
	maxEvents   = 1 << 29  // of one entry
	maxSchemas  = 1 << 29  // all schemas of a workflow
)

// maxDepth is the deepest nesting that the format allows, which is also that of encoding/json.
const maxDepth = 10000

// CheckDepth returns an error wrapping ErrLimit when arrays and objects are nested
// in data beyond DefaultDepth. data need not be valid JSON; it is read once, without recursion.
func CheckDepth(data []byte) error { return checkDepth(data, DefaultDepth) }

// CheckKey returns an error wrapping ErrLimit when a row's key is too long.
func (l Limits) CheckKey(key string) error {
	if limit := l.orDefault().Key; len(key) > limit {
		return fmt.Errorf("%w: key of %d bytes, at most %d are taken", ErrLimit, len(key), limit)
	}
	return nil
}

// CheckSize returns an error wrapping ErrLimit when a JSON value is too large or
// nested too deep. It does not say whether value is valid JSON.
func (l Limits) CheckSize(value []byte) error {
	l = l.orDefault()
	if len(value) > l.Value {
		return fmt.Errorf("%w: value of %d bytes, at most %d are taken", ErrLimit, len(value), l.Value)
	}
	return checkDepth(value, l.Depth)
}

// CheckValue returns an error wrapping ErrInvalid unless value is one JSON value
// in UTF-8 without space around it, and within the limits.
func (l Limits) CheckValue(value []byte) error {
	if err := l.CheckSize(value); err != nil {
		return err
	}
	if !utf8.Valid(value) || !json.Valid(value) || len(bytes.TrimSpace(value)) != len(value) {
		return invalid("not one JSON value in UTF-8 without space around it")
	}
	return nil
}

func checkDepth(data []byte, limit int) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		if quoted {
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			if depth++; depth > limit {
				return fmt.Errorf("%w: JSON nested more than %d deep", ErrLimit, limit)
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}
