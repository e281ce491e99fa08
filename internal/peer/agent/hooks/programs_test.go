package hooks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/peer/agent/hooks"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// program is the setup of a program in an empty working copy.
func program(t *testing.T, agent string) (setup hooks.Setup, path string) {
	t.Helper()
	d, ok := dialect.Of(agent)
	require.True(t, ok)
	setup = hooks.Setup{Agent: d, Root: t.TempDir(), Private: t.TempDir()}
	return setup, filepath.Join(setup.Root, setup.File())
}

func TestAProgramComesAndGoes(t *testing.T) {
	t.Parallel()
	setup, path := program(t, dialect.Pi)
	for _, changed := range []bool{true, false} {
		got, err := setup.Enable()
		require.NoError(t, err)
		assert.Equal(t, changed, got)
	}
	have, want, err := setup.InPlace()
	require.NoError(t, err)
	assert.Equal(t, want, have)
	assert.Equal(t, setup.Agent.Hooks.Program, read(t, path))
	for _, changed := range []bool{true, false} {
		got, err := setup.Disable()
		require.NoError(t, err)
		assert.Equal(t, changed, got)
	}
	left, err := os.ReadDir(setup.Root)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestAProgramOfSomebodyElseStays(t *testing.T) {
	t.Parallel()
	setup, path := program(t, dialect.Pi)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
	for _, text := range []string{"export default () => {}\n", setup.Agent.Hooks.Program + "// edited by hand\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := setup.Disable()
		assert.Equal(t, fault.InvalidInput, fault.CodeOf(err))
		assert.Equal(t, text, read(t, path))
	}
}
