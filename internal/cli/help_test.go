package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// listedCommands are the names of the commands that a page of help lists.
func listedCommands(t *testing.T, help string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(help, "\nCOMMANDS\n")
	require.True(t, ok, help)
	list, _, ok := strings.Cut(rest, "\nFLAGS\n")
	require.True(t, ok, help)
	var names []string
	for _, found := range regexp.MustCompile(`(?m)^    (\S+)  `).FindAllStringSubmatch(list, -1) {
		names = append(names, found[1])
	}
	return names
}

// Whoever adds a command that everybody types makes room for it.
func TestHelpListsAtMost25Commands(t *testing.T) {
	t.Parallel()
	short := listedCommands(t, invoke(t, nil, "help").out.String())
	assert.LessOrEqual(t, len(short), 25)
	assert.Subset(t, short, []string{"timeline", "travel", "reset", "revert", "fork", "replay", "diff"})

	all := listedCommands(t, invoke(t, nil, "help", "--all").out.String())
	assert.Subset(t, all, short)
	assert.Subset(t, all, []string{"sql", "capture", "import", "watch", "export", "doctor", "prune", "seal"})
	for _, old := range []string{"cancel-request", "signals", "unseal", "index"} {
		assert.NotContains(t, all, old, "an old name of what has become a flag")
	}
	assert.Equal(t, invoke(t, nil, "-h", "--all").out.String(), invoke(t, nil, "help", "--all").out.String())
}

// Each way back has an example, and its command line is one.
func TestHelpBackIsThePageAboutTheWaysBack(t *testing.T) {
	t.Parallel()
	c := invoke(t, nil, "help", "back")
	require.Equal(t, fault.ExitOK, c.exit)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "back.md"))
	require.NoError(t, err)
	assert.Equal(t, string(page), c.out.String())
	for line := range strings.Lines(c.out.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSpace(line)), 80, line)
	}
	examples := make(map[string]bool)
	for _, found := range regexp.MustCompile("\\| `git smithers ([^`]+)` *\\|").FindAllStringSubmatch(c.out.String(), -1) {
		words := strings.Fields(found[1])
		examples[words[0]] = true
		tried := invoke(t, nil, words...)
		assert.Equal(t, fault.ExitNotFound, tried.exit, "%s: %s", found[1], tried.err.String())
		assert.Contains(t, tried.err.String(), "git smithers init", "there is no repository, and nothing else is wrong")
	}
	for _, word := range []string{"travel", "reset", "undo", "fork", "replay", "restore", "revert"} {
		assert.True(t, examples[word], word)
		assert.Regexp(t, `(?m)^\| `+word+` +\|`, c.out.String())
	}
	c = invoke(t, nil, "back")
	assert.Contains(t, c.err.String(), "`git smithers help back`")
}
