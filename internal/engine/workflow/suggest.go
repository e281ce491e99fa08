package workflow

import (
	"strconv"
	"strings"
)

// suggest returns the hint for an unknown word: the nearest known word or, if no word is near, all known words. It
// returns "" if no word is near and known has no words or more than 12.
func suggest(word string, known []string) string {
	// A known word is near if at most half of the bytes differ, or two bytes of a short word. In any case, fewer bytes
	// must differ than word has.
	best, distance := "", min(len(word), max(3, len(word)/2+1))
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance {
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

// editDistance returns the smallest number of bytes to insert, delete or replace to turn a into b.
func editDistance(a, b string) int {
	// row[j] is the distance from the bytes of a that were read so far to the first j bytes of b.
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		// previous is the value of row[j] before this round.
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost++
			}
			previous = row[j+1]
			row[j+1] = min(cost, row[j]+1, previous+1)
		}
	}
	return row[len(b)]
}

// firstLine returns the first line of a library's message. The further lines quote the text with a marker.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
