package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALongTextOfAHookIsCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sign, last string }{ // the JSON of a sign that is repeated, and how the text ends before the note
		"letters":      {"x", "x"},
		"words":        {"word ", " "},
		"lines":        {`a line of text\n`, "\n"},
		"lines of DOS": {`x y\r\n`, "\n"},
		"escapes":      {`\u00e9`, "é"},
		"pairs":        {`\ud83d\ude00`, ""},
		"backslashes":  {`\\`, `\`},
		"quotes":       {`\"`, `"`},
		"runes":        {"漢", "漢"},
	} {
		for shift := range 2 {
			signs := strings.Repeat("x", shift) + strings.Repeat(c.sign, longestText/len(c.sign)+7)
			out, err := readInput(strings.NewReader(`{"a":"` + signs + `","b":["short"],"c":"\"\\"}`))
			require.NoError(t, err)
			assert.Less(t, len(out), longestText+200)
			var in struct {
				A, C string
				B    []string
			}
			require.NoError(t, json.Unmarshal(out, &in), name)
			text, note, found := strings.Cut(in.A, "[")
			require.True(t, found, name)
			var whole string
			require.NoError(t, json.Unmarshal([]byte(`"`+signs+`"`), &whole))
			assert.True(t, strings.HasPrefix(whole, strings.TrimSuffix(text, "\uFFFD")), name)
			assert.True(t, strings.HasSuffix(text, c.last), "%s: %q", name, text[len(text)-5:])
			assert.Greater(t, len(text)*len(c.sign), (longestText-2*cutBack)*len(c.last)/2, name)
			assert.Regexp(t, `^\d+ bytes were left out\]$`, note, name)
			assert.Equal(t, `"\`, in.C, name)
		}
	}
}

// What is short stays as it is, JSON or not, however the bytes come.
func TestAShortInputOfAHookStays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `"`, `"\`, `{"prompt":"a \"b\" \\","n":1}`, "\xff\"\xff\\\"\"", strings.Repeat("not JSON ", 10_000)} {
		out, err := readInput(iotest.OneByteReader(strings.NewReader(text)))
		require.NoError(t, err)
		assert.Equal(t, text, string(out))
	}
	_, err := readInput(iotest.ErrReader(errors.New("broken")))
	require.ErrorContains(t, err, "broken")
}
