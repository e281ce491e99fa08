package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// A value of the user's stands in a row of ours as it was given, byte for byte. A row
// that has any is checked as a whole before it is read: raw reads valid JSON only.

// checkRaw is the check of a row with values of the user's.
func checkRaw(row []byte) error { return Limits{Depth: maxDepth}.CheckValue(row) }

// raw reads any value.
func (m *metadata) raw() json.RawMessage {
	if m.bad {
		return nil
	}
	end := jsontext.ValueEnd(m.rest, 0)
	if end < 0 {
		m.bad = true
		return nil
	}
	value := json.RawMessage(m.rest[:end:end])
	m.rest = m.rest[end:]
	return value
}

// appendRaw appends a member that is null where value is nil.
func appendRaw(b []byte, name string, value json.RawMessage) []byte {
	b = appendName(b, name)
	if value == nil {
		return append(b, "null"...)
	}
	return append(b, value...)
}

// appendTrue appends a member unless it is false.
func appendTrue(b []byte, name string, value bool) []byte {
	if !value {
		return b
	}
	return append(appendName(b, name), "true"...)
}

// optionalTrue reads a member that appendTrue has written.
func (m *metadata) optionalTrue(name string) bool {
	if !m.optional(name) {
		return false
	}
	m.expect("true")
	return true
}

// checkTexts refuses what is not UTF-8; nil is fine.
func checkTexts(texts ...*string) error {
	for _, s := range texts {
		if s != nil && !utf8.ValidString(*s) {
			return fmt.Errorf("text is not UTF-8: %q", *s)
		}
	}
	return nil
}

// checkTimes refuses what cannot be a time; nil is fine.
func checkTimes(times ...*int64) error {
	for _, at := range times {
		if at != nil && !isTime(*at) {
			return fmt.Errorf("time out of range: %d", *at)
		}
	}
	return nil
}

// checkAttemptNumber refuses what cannot be the number of an attempt.
func checkAttemptNumber(n int) error {
	if n < 1 || n > maxInteger {
		return errors.New("attempt: out of range")
	}
	return nil
}
