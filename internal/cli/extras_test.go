package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestFilesOfCommandsAreListedAndWrittenIfAPersonSaysYes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	enable := func(answer string) *call {
		return d.invoke(t, func(s *cli.Streams) {
			s.In = strings.NewReader(answer)
			atTerminal("NO_COLOR=1")(s)
		}, "session", "enable", "pi", "--commands", "--skill")
	}
	files := []string{".pi/extensions/git-smithers-commands.ts", ".pi/skills/git-smithers/SKILL.md"}
	c := enable("n\n")
	assert.Equal(t, fault.ExitUsage, c.exit)
	assert.Contains(t, c.err.String(), "pi reads these files, which would be written:\n  "+files[0]+"\n  "+files[1]+"\nWrite them?")
	assert.NoDirExists(t, filepath.Join(d.repo.Dir, ".pi"), "the hooks are not written either")
	c = enable("y\n")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	for _, file := range files {
		assert.FileExists(t, filepath.Join(d.repo.Dir, file))
	}
}
