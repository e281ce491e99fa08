package fault_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAWordOfACommandIsQuotedOnlyWhereAShellNeedsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"triage-1:7":             "triage-1:7",
		"../db/smithers.db":      "../db/smithers.db",
		"größe":                  "größe",
		"":                       "''",
		"a b":                    "'a b'",
		"it's":                   `'it'\''s'`,
		"$(rm)":                  "'$(rm)'",
		"~x":                     "'~x'",
		"=x":                     "'=x'",
		"two\nlines":             `$'two\012lines'`,
		"it's \\ red \x1b[31m":   `$'it\'s \\ red \033[31m'`,
		"turned \u202e around":   `$'turned \342\200\256 around'`,
		"no UTF-8 \xff, \ufffd ": "$'no UTF-8 \\377, \ufffd '",
	} {
		assert.Equal(t, want, fault.Word(text))
	}
}

func TestAShellReadsAWordAsItWas(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	require.NoError(t, err, "the tools of the tests need it, too")
	var given, command strings.Builder
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ReplaceAll(rapid.OneOf(
			rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab'\"\\$`~=*?[]{}!#&;|<>() \t\n\x1b-")), 0, 12, -1),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text"), "\x00", "")
		given.WriteString(text + "\x00")
		command.WriteString(fault.Word(text) + " ")
	})
	shell := exec.Command(bash) //nolint:gosec // that is what is tested
	shell.Stdin = strings.NewReader(`printf '%s\0' ` + command.String())
	got, err := shell.Output()
	require.NoError(t, err)
	assert.Equal(t, given.String(), string(got))
}
