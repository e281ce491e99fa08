package snapshot

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// checkRaw returns an error if value is not a single JSON value in UTF-8, or exceeds the bounds of the format. value
// is a stored value that contains a user's JSON.
func checkRaw(value []byte) error { return Limits{Depth: maxDepth}.CheckValue(value) }

// checkTexts returns an error if a text is not UTF-8. A nil text is valid.
func checkTexts(texts ...*string) error {
	for _, s := range texts {
		if s != nil && !utf8.ValidString(*s) {
			return fmt.Errorf("text is not UTF-8: %q", *s)
		}
	}
	return nil
}

// isTime reports whether ms is a valid time, in milliseconds since 1970.
func isTime(ms int64) bool { return ms >= 0 && ms <= row.MaxInteger }

// checkTimes returns an error if a number is not a valid time. A nil time is valid.
func checkTimes(times ...*int64) error {
	for _, at := range times {
		if at != nil && !isTime(*at) {
			return fmt.Errorf("time out of range: %d", *at)
		}
	}
	return nil
}

// checkAttemptNumber returns an error if n cannot be the number of an attempt. Numbers begin at 1.
func checkAttemptNumber(n int) error {
	if n < 1 || n > row.MaxInteger {
		return errors.New("attempt: out of range")
	}
	return nil
}
