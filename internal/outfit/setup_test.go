package outfit_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/outfit"
)

func TestASetupCommandEndsAtItsFirstFailureAndItsOutputIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	setup := outfit.Setup{Line: "pwd\necho \"$SMITHERS_ORIGIN $GIT_DIR\"\nfalse\necho never", Dir: dir, Origin: "/origin", Log: filepath.Join(dir, "log")}

	err := setup.Run(t.Context(), append(os.Environ(), "GIT_DIR=/elsewhere"))

	require.ErrorContains(t, err, "exit status 1")
	assert.Equal(t, []string{dir, "/origin "}, setup.Tail())
}

func TestAnInterruptedSetupCommandEndsWithAllItsProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	setup := outfit.Setup{Line: "sleep 100 & echo $!; wait", Dir: dir, Log: filepath.Join(dir, "log")}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- setup.Run(ctx, os.Environ()) }()
	require.Eventually(t, func() bool { return len(setup.Tail()) > 0 }, 10*time.Second, 10*time.Millisecond)

	stop()

	require.Error(t, <-ended)
	if command, err := os.ReadFile("/proc/" + setup.Tail()[0] + "/cmdline"); err == nil {
		assert.Empty(t, command, "a process that has ended has no command line")
	}
}
