package claim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACommandThatEndsWhileCommandsAreListedIsNoError(t *testing.T) {
	t.Parallel()
	c := &Commands{run: "r", folder: t.TempDir()}
	// The folder lists the file, and there is none to read: as when the command's process removes it in between.
	require.NoError(t, os.Symlink(filepath.Join(c.folder, "gone", "gone"), filepath.Join(c.folder, "note")))

	noted, err := c.noted()

	require.NoError(t, err)
	assert.Empty(t, noted)
}
