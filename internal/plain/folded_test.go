package plain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/plain"
)

func TestFoldedCountsWhatWouldPushTextOutOfSight(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored string
		shown  []string
	}{
		"a few blank lines stay":       {"a\n\n \n\t\nb", []string{"a", "", " ", "\t", "b"}},
		"many are counted":             {"a" + strings.Repeat("\n", 250) + "b", []string{"a", "(249 blank lines)", "b"}},
		"also if they only look blank": {"a" + strings.Repeat("\n \u200b\u2800", 9) + "\nb", []string{"a", "(9 blank lines)", "b"}},
		"or have only marks":           {"a" + strings.Repeat("\n\ufe0f\u034f\u180b", 9) + "\nb", []string{"a", "(9 blank lines)", "b"}},
		"also at the beginning":        {strings.Repeat("\n", 9) + "b", []string{"(9 blank lines)", "b"}},
		"blanks in a line are counted": {"a" + strings.Repeat(" ", 500) + "b  c", []string{"a(500 blanks)b  c"}},
		"controls are escaped":         {"\x1b[2J\u202e", []string{`\x1b[2J\u202e`}},
		"nothing":                      {"", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.shown, plain.Folded(test.stored))
		})
	}
}
