package display

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Value formats a JSON value for people on one line: a text without quotes, a fraction with two decimals, and any other value as it
// is stored. A value longer than width characters is shortened. An empty text, and a text that would look like another
// value, keeps its quotes.
func Value(value json.RawMessage, width int) string {
	text := string(value)
	var s string
	var n float64
	switch {
	case json.Unmarshal(value, &s) == nil && text != "null":
		if s != "" && !json.Valid([]byte(s)) {
			text = s
		}
	case strings.ContainsAny(text, ".eE") && json.Unmarshal(value, &n) == nil:
		if short := fmt.Sprintf("%.2f", n); short != "0.00" && short != "-0.00" && len(short) < len(text) {
			text = short
		}
	}
	return plain.Shorten(plain.Text(text), width)
}
