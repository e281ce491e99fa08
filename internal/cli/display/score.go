package display

import (
	"strconv"
	"strings"
)

// Score returns a score for people: with at most three digits after the point.
func Score(value float64) string {
	text := strconv.FormatFloat(value, 'f', 3, 64)
	if len(text) > 16 {
		return strconv.FormatFloat(value, 'g', 4, 64)
	}
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
