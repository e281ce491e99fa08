package sandbox_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
)

func TestACommandGetsNoDescriptorThatWasInherited(t *testing.T) {
	t.Parallel()
	needBubblewrap(t)
	if os.Getenv("SANDBOX_INHERITED") == "" {
		self, err := os.Executable()
		require.NoError(t, err)
		dir, err := os.Open(t.TempDir())
		require.NoError(t, err)
		cmd := exec.Command(self, "-test.run", "^"+t.Name()+"$")
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), "SANDBOX_INHERITED=1"), []*os.File{dir}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.NoError(t, dir.Close())
		return
	}
	at, env := placed(t)
	assert.Equal(t, "none\n.git (a repository), .hk (git's core.hookspath)", inside(t, at, &sandbox.Spec{}, env, "test -e /proc/self/fd/3 || echo none"))
}
