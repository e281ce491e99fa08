package inspect

import (
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "",
		"plain, \"quoted\"":     "plain, \"quoted\"",
		"=1+1":                  "'=1+1",
		"+1":                    "'+1",
		"-1":                    "'-1",
		"@SUM(A1)":              "'@SUM(A1)",
		"|cmd":                  "'|cmd",
		"＝1":                    "'＝1",
		"a=1":                   "a=1",
		"\t=1":                  `\t=1`,
		"\r=1":                  `\x0d=1`,
		"two\nlines":            `two\nlines`,
		"\x1b[2J\u202e\x00\xff": `\x1b[2J\u202e\x00\xff`,
	} {
		assert.Equal(t, want, spreadsheetText(text))
	}
	for value, want := range map[string]string{
		`-3`: "-3", `1e400`: "1e400", `true`: "true", `null`: "null", `"-3"`: "'-3", `{"a":"=1"}`: `{"a":"=1"}`, ``: "",
	} {
		assert.Equal(t, want, spreadsheetValue(json.RawMessage(value)))
	}
}

func FuzzCells(f *testing.F) {
	for _, s := range []string{"", "a", "=1", "\t=1", "\ufeff=1", "'=1", "\"", ",", "\r\n", "\xff", "＝"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cell := spreadsheetText(s)
		assert.NotContains(t, "=+-@", first(cell))
		assert.False(t, strings.ContainsFunc(cell, unicode.IsControl))
		var out strings.Builder
		w := csv.NewWriter(&out)
		require.NoError(t, w.WriteAll([][]string{{"x", cell}}))
		read, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
		require.NoError(t, err)
		assert.Equal(t, [][]string{{"x", cell}}, read)
		assert.Equal(t, 1, strings.Count(out.String(), "\n"), "one line a run")
	})
}

// first returns the first character of text, or a text that no cell is.
func first(text string) string {
	for _, r := range text {
		return string(r)
	}
	return "empty"
}
