package display

import (
	"strings"
	"unicode/utf8"
)

// Padded is painted text, as wide as others; text is the same without paint.
func Padded(painted, text string, width int) string {
	return painted + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
