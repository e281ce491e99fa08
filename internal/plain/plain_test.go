package plain_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/plain"
)

func TestPlainEscapesWhatWouldDriveATerminal(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ stored, shown string }{
		"text stays":                   {"größer → 日本", "größer → 日本"},
		"an escape sequence":           {"\x1b[2Jgone", `\x1b[2Jgone`},
		"a line feed and a tab":        {"a\nb\tc", `a\nb\tc`},
		"a carriage return":            {"good\rbad", `good\x0dbad`},
		"DEL":                          {"a\x7f", `a\x7f`},
		"a C1 control":                 {"a\u009bm", `a\u009bm`},
		"a change of writing":          {"a\u202eb", `a\u202eb`},
		"a byte that is not UTF-8":     {"a\xffb", `a\xffb`},
		"the replacement character":    {"a\uFFFDb", "a\uFFFDb"},
		"a line separator":             {"a\u2028b", `a\u2028b`},
		"backslashes are not escaped":  {`a\x1b`, `a\x1b`},
		"nothing":                      {"", ""},
		"an escape sequence in a name": {"run\x1b]0;x\x07", `run\x1b]0;x\x07`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.shown, plain.Text(test.stored))
		})
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[m", "\xff\xfe", "a\nb", "\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := plain.Text(s)
		assert.True(t, utf8.ValidString(shown))
		assert.False(t, strings.ContainsFunc(shown, unicode.IsControl))
		assert.Equal(t, shown, plain.Text(shown))
	})
}

func TestPlainLinesKeepsLinesAndTabs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"one", "\ttwo", `\x1bthree`}, plain.Lines("one\r\n\ttwo\n\x1bthree\n\n"))
}

func TestShortenMarksTheCut(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "größer", plain.Shorten("größer", 6))
	assert.Equal(t, "größ…", plain.Shorten("größer", 5))
}
