package snapshot

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/snapshot/row"
)

// checkRaw checks a stored value that holds values of the user's.
func checkRaw(value []byte) error { return Limits{Depth: maxDepth}.CheckValue(value) }

// checkTexts refuses text that is not UTF-8. A nil text is valid.
func checkTexts(texts ...*string) error {
	for _, s := range texts {
		if s != nil && !utf8.ValidString(*s) {
			return fmt.Errorf("text is not UTF-8: %q", *s)
		}
	}
	return nil
}

// isTime reports whether ms can be a time: milliseconds since 1970.
func isTime(ms int64) bool { return ms >= 0 && ms <= row.MaxInteger }

// checkTimes refuses numbers that cannot be times. A nil time is valid.
func checkTimes(times ...*int64) error {
	for _, at := range times {
		if at != nil && !isTime(*at) {
			return fmt.Errorf("time out of range: %d", *at)
		}
	}
	return nil
}

// checkAttemptNumber refuses numbers that no attempt has.
func checkAttemptNumber(n int) error {
	if n < 1 || n > row.MaxInteger {
		return errors.New("attempt: out of range")
	}
	return nil
}
