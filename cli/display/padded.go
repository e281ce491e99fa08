package display

import (
	"strings"
	"unicode/utf8"
)

// Padded adds spaces to the end of painted until it is width columns wide. text is painted without its colours.
func Padded(painted, text string, width int) string {
	return painted + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
