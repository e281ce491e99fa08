package display

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/cli/term"
)

// Padded adds spaces to the end of painted, up to a width of width columns. text must be the same text without colours:
// Padded measures text, because colours have no width. If text is wider than width, Padded returns painted unchanged.
func Padded(painted, text string, width int) string {
	return painted + strings.Repeat(" ", max(0, width-term.Width(text)))
}
