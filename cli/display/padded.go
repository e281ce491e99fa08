package display

import (
	"strings"
	"unicode/utf8"
)

// Padded returns painted with so many spaces at its end that it is width columns wide. text is the same text without
// colours. If text is wider than width, painted is returned unchanged.
func Padded(painted, text string, width int) string {
	return painted + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
