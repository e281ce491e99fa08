package display

import (
	"strings"
	"unicode/utf8"
)

// Padded adds spaces to painted text until it is width columns wide. text is the same text without paint.
func Padded(painted, text string, width int) string {
	return painted + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
