package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestDoctorAsksAPersonBeforeItMends(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ref := filepath.Join(d.repo.GitDir, "refs/smithers/triage/0")
	d.repo.WriteRef("refs/smithers/triage/0", "")
	says := func(answer string) func(*cli.Streams) {
		return func(s *cli.Streams) {
			s.In = strings.NewReader(answer)
			atTerminal("NO_COLOR=1")(s)
		}
	}
	c := d.invoke(t, says("n\n"), "doctor")
	assert.Equal(t, fault.ExitCorrupt, c.exit)
	assert.Contains(t, c.err.String(), "refs/smithers/triage/0: broken-ref: the file is empty")
	assert.Contains(t, c.err.String(), "Make these repairs? [y/N]")
	info, err := os.Stat(ref)
	require.NoError(t, err)
	assert.Zero(t, info.Size())

	c = d.invoke(t, says(""), "doctor")
	assert.Equal(t, fault.ExitCorrupt, c.exit, "the end of the input is no")
	assert.NotContains(t, c.err.String(), "internal error")

	c = d.invoke(t, says("y\n"), "doctor")
	assert.Equal(t, fault.ExitOK, c.exit, c.err.String())
	assert.Contains(t, c.out.String(), "repaired: ")
	info, err = os.Stat(ref)
	require.NoError(t, err)
	assert.NotZero(t, info.Size())
}
