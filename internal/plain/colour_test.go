package plain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/plain"
)

func TestColouredKeepsColoursAndNothingElse(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string][]string{
		"plain\ttext":                      {"plain\ttext"},
		"\x1b[31mred\x1b[0m":               {"\x1b[31mred\x1b[0m\x1b[m"},
		"\x1b[1;31mred\nstill":             {"\x1b[1;31mred\x1b[m", "still"},
		"\x1b[38;5;8mgrey\x1b[38;2;8;8;8m": {"\x1b[38;5;8mgrey\x1b[38;2;8;8;8m\x1b[m"},
		"\x1b[38:2::8:8:8mcolon":           {"\x1b[38:2::8:8:8mcolon\x1b[m"},
		"\x1b[8mhidden":                    {"hidden"},
		"\x1b[1;8mhidden":                  {"hidden"},
		"\x1b[38;5;1;8mhidden":             {"hidden"},
		"\x1b[2Jcleared\x1b]0;title\x07":   {`\x1b[2Jcleared\x1b]0;title\x07`},
		"\x1b[32mok\x1b[1A\x1b[m":          {"\x1b[32mok" + `\x1b[1A` + "\x1b[m\x1b[m"},
	} {
		assert.Equal(t, want, plain.Coloured(stored), "%q", stored)
	}
}
