package arg_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// says runs a command line in an empty folder, and returns what it prints.
func says(t *testing.T, args ...string) (exit int, text string) {
	t.Helper()
	var out strings.Builder
	dir := t.TempDir()
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, Dir: dir, Env: repotest.Env(dir), Now: time.Now}
	exit = cli.Main(t.Context(), streams, args)
	return exit, out.String()
}

func TestAWordOfAnotherProgramIsAnErrorThatNamesOurCommands(t *testing.T) {
	t.Parallel()
	for word, lines := range arg.OtherWords {
		exit, text := says(t, word)
		assert.Equal(t, fault.ExitUsage, exit, "%s is a command: it needs no line in the table", word)
		assert.Contains(t, text, "did you mean `git smithers ", word)
		known := 0
		for _, line := range lines {
			words := strings.Fields(line)
			if exit, _ := says(t, append(words, "--help")...); exit == fault.ExitOK {
				assert.Contains(t, text, "`git smithers "+line+"`", word)
				known++
			}
		}
		assert.Positive(t, known, "%s: none of its commands exists: %v", word, lines)
	}
}
