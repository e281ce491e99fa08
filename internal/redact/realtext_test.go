package redact_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// TestRealText searches the text that is on the machine anyway: Go's sources, Go modules, npm packages, and documentation. At
// most one file in a hundred is flagged. It only runs in a soak.
func TestRealText(t *testing.T) {
	t.Parallel()
	if !repotest.Soaks() {
		t.Skip("only a soak reads all of this")
	}
	finder := redact.NewFinder(nil)
	total := 0
	for name, folder := range map[string]string{
		"Go's sources": goEnv(t, "GOROOT") + "/src",
		"Go modules":   goEnv(t, "GOMODCACHE"),
		"npm packages": resolved(t, "../../.tools/smithers/node_modules"),
		"manuals":      "/usr/share/doc",
	} {
		searched, flagged := 0, 0
		eachText(folder, func(path string, text []byte) {
			searched++
			if found := finder.Find(text); len(found) > 0 {
				flagged++
				t.Logf("%s: %s", strings.TrimPrefix(path, folder+"/"), found[0].Rule)
			}
		})
		t.Logf("%s: %d of %d files are flagged", name, flagged, searched)
		assert.LessOrEqual(t, 100*flagged, searched, "%s: %d of %d files are flagged", name, flagged, searched)
		total += searched
	}
	const few = 1000
	require.Greater(t, total, few)
}

// eachText calls do with text files below the folder: at most 3,000, spread over all of them, and none above 1 MB. It skips
// folders of tests, and programs that search for secrets themselves: they have texts like secrets on purpose. A folder that
// does not exist has no files.
func eachText(folder string, do func(path string, text []byte)) {
	const most, largest = 3000, 1 << 20
	var paths []string
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error { // what cannot be read is left out
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		switch name := e.Name(); {
		case e.IsDir() && (name == "testdata" || name == "test" || name == "tests" || strings.Contains(name, "gitleaks")):
			return filepath.SkipDir
		case e.Type().IsRegular() && !strings.HasSuffix(name, "_test.go"):
			paths = append(paths, path)
		}
		return nil
	})
	step := max(1, len(paths)/most)
	for i := 0; i < len(paths); i += step {
		info, err := os.Stat(paths[i])
		if err != nil || info.Size() > largest {
			continue
		}
		if text, err := os.ReadFile(paths[i]); err == nil && bytes.IndexByte(text, 0) < 0 {
			do(paths[i], text)
		}
	}
}

// goEnv returns a setting of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// resolved returns the path without symbolic links, or "" if nothing is there.
func resolved(t *testing.T, path string) string {
	t.Helper()
	folder, err := filepath.EvalSymlinks(path)
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(t, err)
	return folder
}
