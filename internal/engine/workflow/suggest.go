package workflow

import (
	"strconv"
	"strings"

	"github.com/xrash/smetrics"
)

// suggest returns the hint for an unknown word: the nearest known word or, if no word is near, all known words. It
// returns "" if no word is near and known has no words or more than 12.
func suggest(word string, known []string) string {
	// A known word is near if at most half of the bytes differ, or two bytes of a short word. In any case, fewer bytes
	// must differ than word has.
	best, distance := "", min(len(word), max(3, len(word)/2+1))
	for _, k := range known {
		if d := smetrics.WagnerFischer(strings.ToLower(word), strings.ToLower(k), 1, 1, 1); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	const shown = 12
	if len(known) == 0 || len(known) > shown {
		return ""
	}
	return "use one of: " + strings.Join(known, ", ")
}

// firstLine returns the first line of a library's message. The further lines quote the text with a marker.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
