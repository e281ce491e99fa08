package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDatabaseOfSmithersIsInTheNearestProject(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{".smithers", "project/.smithers/workflows", "project/src/deep", "plain"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, filepath.FromSlash(dir)), 0o700))
	}
	for folder, want := range map[string]string{
		"project":                     "project",
		"project/src/deep":            "project",
		"project/.smithers/workflows": "project", // that folder is no project
		"plain":                       "plain",   // nor is the user's own folder
		".":                           ".",
	} {
		e := &smithersEngine{dir: filepath.Join(home, filepath.FromSlash(folder))}
		assert.Equal(t, filepath.Join(home, want, "smithers.db"), e.database(home), folder)
	}
	elsewhere := &smithersEngine{dir: filepath.Join(home, "project", "src")}
	assert.Equal(t, filepath.Join(home, "project", "src", "smithers.db"), elsewhere.database(t.TempDir()), "outside of the user's own folder there are none")
	assert.Equal(t, filepath.Join(home, "project", "smithers.db"), elsewhere.database(""))
}

func TestProgramsBesideSmithersAreFoundLast(t *testing.T) {
	t.Parallel()
	list := string(filepath.ListSeparator)
	assert.Equal(t, []string{"A=1", "PATH=/bin" + list + "/x"}, withPath([]string{"PATH=/bin", "A=1"}, "/x"))
	assert.Equal(t, []string{"A=1", "PATH=/x"}, withPath([]string{"A=1"}, "/x"))
}
