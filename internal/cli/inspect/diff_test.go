package inspect

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/cli/term"
)

func TestASideKeepsTheKeyAndItsWidth(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{50, 80, 120} {
		side := sideOf(columns, "…", false)
		width := (columns - 9) / 2
		for text, key := range map[string]string{
			`    "text": "` + strings.Repeat("how ", 90) + `now in 26777"`:           `"text": …`,
			`  "本文": "` + strings.Repeat("今日は", 90) + `晴れ 26777"`:                    `"本文": …`,
			`  "a \"quoted\" key that is longer than a side of the terminal": 26777`: `"`,
			`    "` + strings.Repeat("an element of a list ", 20) + `26777"`:         `…`,
		} {
			got := side(text, strings.Index(text, "26777"))
			assert.Len(t, got, 1)
			assert.Equal(t, width, term.Width(got[0]), got[0])
			assert.True(t, strings.HasPrefix(got[0], key), got[0])
			assert.Contains(t, got[0], "26777")
		}
		var whole strings.Builder
		for _, line := range sideOf(columns, "…", true)(`"本文": "`+strings.Repeat("今日は", 90)+`"`, 200) {
			assert.Equal(t, width, term.Width(line), line)
			whole.WriteString(strings.TrimRight(line, " "))
		}
		assert.Equal(t, `"本文":"`+strings.Repeat("今日は", 90)+`"`, strings.Replace(whole.String(), `: "`, `:"`, 1))
	}
}
