package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReleaseIsRefusedBeforeAnythingIsBuilt(t *testing.T) {
	script, err := os.ReadFile("../release.sh")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		spoil func(dir string) // after the commit and the tag v1.0.0
		says  string
	}{
		"a change that is not committed": {func(dir string) { write(t, filepath.Join(dir, "new"), "") }, "there are changes that are not committed"},
		"files of another release":       {func(dir string) { require.NoError(t, os.Mkdir(filepath.Join(dir, "dist"), 0o777)) }, "dist is there already"},
		"a tag that is there":            {func(string) {}, "there is a tag v1.0.0 already"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "tools"), 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "tools", "release.sh"), script, 0o777))
			write(t, filepath.Join(dir, ".gitignore"), "/dist/\n")
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"}, {"tag", "v1.0.0"}} {
				runs(t, dir, nil, "git", args...)
			}
			c.spoil(dir)
			cmd := exec.Command("sh", "tools/release.sh", "v1.0.0")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, "release: "+c.says, string(out[:len("release: ")+len(c.says)]))
			require.Equal(t, "v1.0.0\n", runs(t, dir, nil, "git", "tag"))
		})
	}
}
