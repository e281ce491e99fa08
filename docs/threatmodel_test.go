package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	scriptName = regexp.MustCompile("`([a-z0-9.-]+)\\.txtar`")
	testName   = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	testFunc   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
)

// threat-model.md says of each promise which test holds it. A test that was renamed or removed leaves a promise that nothing holds.
func TestThePromisesOfTheThreatModelNameTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("threat-model.md")
	require.NoError(t, err)
	tests := testsOf(t, "..")
	promises, table := 0, false
	for line := range strings.Lines(string(page)) {
		if !table || !strings.HasPrefix(line, "|") {
			table = line == "| promise | held by |\n"
			continue
		}
		if strings.HasPrefix(line, "|---") {
			continue
		}
		promises++
		columns := strings.Split(line, " | ")
		held := columns[len(columns)-1]
		scripts, names := scriptName.FindAllStringSubmatch(held, -1), testName.FindAllStringSubmatch(held, -1)
		assert.NotEmpty(t, append(scripts, names...), "nothing holds: %s", columns[0])
		for _, name := range names {
			assert.True(t, tests[name[1]], "no test is called %s", name[1])
		}
		for _, script := range scripts {
			assert.FileExists(t, filepath.Join("..", "testdata", "script", script[1]+".txtar"))
		}
	}
	assert.Greater(t, promises, 40)
}

// testsOf returns the names of all tests in Go below dir.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	tests := make(map[string]bool)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && path != dir):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, name := range testFunc.FindAllStringSubmatch(string(source), -1) {
			tests[name[1]] = true
		}
		return err
	}))
	return tests
}
