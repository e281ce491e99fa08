package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestToolsSayWhatTheCommandsPrint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	w.turn("make it better", "a.txt", "one\ntwo\n", "better")
	c := w.connect(nil)

	assert.Contains(t, c.call("status"), "\nRunning\n  claude-s1  write it")
	assert.Contains(t, c.call("timeline"), "turn 2: make it better")
	assert.NotContains(t, c.call("timeline", "run", "@session", "limit", 2), "turn 2: make it better")
	assert.Contains(t, c.call("show", "at", "claude-s1"), "\n✓ 2  make it better ")
	assert.Contains(t, c.call("show", "at", "@session:turn:2"), "\nclaude-s1:3  running\n")
	assert.Contains(t, c.call("show", "at", "claude-s1:4", "patch", true), "\n+two\n")
	assert.Contains(t, c.call("diff", "from", "claude-s1:3", "to", "claude-s1:5"), "\n one\n+two\n")
	assert.Contains(t, c.call("diff", "from", "claude-s1:4", "path", "a.txt"), "\n+two\n")
	assert.NotContains(t, c.call("diff", "from", "claude-s1:3", "to", "claude-s1:5", "path", "b.txt"), "two")
	assert.Contains(t, c.call("diff", "from", "claude-s1:3", "to", "claude-s1:5", "stat", true), "1 file changed, 1 insertion(+)")
	assert.Contains(t, c.call("diff", "from", "claude-s1:3", "to", "claude-s1:5", "state", true), `"answer": "better"`)
	assert.Regexp(t, `claude-s1:1 \(turn 1 write it +\S+ \S+ 1\) one\nclaude-s1:4 \(turn 2 make it better \S+ \S+ 2\) two\n`, c.call("who_changed", "path", "a.txt"))
	assert.NotContains(t, c.call("who_changed", "path", "a.txt", "lines", "2,2"), " one\n")
	assert.NotContains(t, c.call("who_changed", "path", "a.txt", "revision", "claude-s1:1"), " two\n")
	assert.Contains(t, c.call("search", "text", "two", "in", "code"), "claude-s1:4  code  a.txt")
	assert.Contains(t, c.call("search", "regex", "b[e]tter", "in", "prompts"), "make it better")

	// What is no flag of ours cannot become one.
	assert.Contains(t, c.refused("timeline", "run", "--tree"), `no run is called "--tree"`)
	assert.Contains(t, c.call("search", "text", "--sql=DROP TABLE runs"), "no hit")
	assert.Contains(t, c.refused("who_changed", "path", "../elsewhere"), "elsewhere")
	assert.Contains(t, c.refused("timeline", "allow", true), "unexpected additional properties")
	_, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "run"})
	assert.ErrorContains(t, err, `unknown tool "run"`)
}

func TestRunsAndFramesAreResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	c := w.connect(nil)
	list, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Resources, 2)
	assert.Equal(t, "smithers://run/claude-s1", list.Resources[1].URI)
	for uri, has := range map[string]string{
		"smithers://runs": "claude-s1\trunning", list.Resources[1].URI: "waits for a prompt", "smithers://run/claude-s1/1": "claude-s1:1  running",
	} {
		read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		require.NoError(t, err, uri)
		assert.Contains(t, read.Contents[0].Text, has)
	}
	for _, uri := range []string{"smithers://run/claude-s1/99", "smithers://run/other", "smithers://run/--json", "file:///etc/passwd"} {
		_, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		assert.ErrorContains(t, err, "Resource not found", uri)
	}
}

// lineOfCursor is the line that names the cursor of the next page.
var lineOfCursor = regexp.MustCompile(`(?m)^There is more: .* the cursor (\S+)\n`)

// inQuote returns the data of a result, without what stands around it.
func inQuote(t *testing.T, text string) string {
	t.Helper()
	lines := strings.SplitN(text, "\n", 3)
	require.Len(t, lines, 3)
	data, _, ok := strings.Cut(lines[2], lines[1]+"\n")
	require.True(t, ok, text)
	return data
}

func TestAnAnswerHasPagesOf32Kilobytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var content strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&content, "line %d of \"<text>\" \\ with & quotes\n", i)
	}
	content.WriteString(strings.Repeat("x", 100<<10) + "\n")
	w.turn("write it", "a.txt", content.String(), "written")
	c := w.connect(nil)
	var all strings.Builder
	var cursors []string
	args := []any{"from", "claude-s1:0", "to", "claude-s1:1"}
	for pages := 0; ; pages++ {
		require.Less(t, pages, 30)
		res := c.result("diff", args...)
		size, err := json.Marshal(res)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(size), 32<<10)
		all.WriteString(inQuote(t, said(res)))
		next := lineOfCursor.FindStringSubmatch(said(res))
		if next == nil {
			assert.Greater(t, pages, 5)
			break
		}
		cursors = append(cursors, next[1])
		args = append(args[:4:4], "cursor", next[1])
	}
	joined := strings.ReplaceAll(all.String(), "x\nx", "xx") // where a line was longer than a page
	assert.Contains(t, joined, "+"+strings.ReplaceAll(strings.TrimSpace(content.String()), "\n", "\n+"))

	assert.Contains(t, c.refused("diff", "from", "claude-s1:0", "to", "claude-s1:2", "cursor", cursors[0]), "the cursor does not fit")
	assert.Contains(t, c.refused("diff", "from", "claude-s1:0", "to", "claude-s1:1", "cursor", "zz"), "not one that this server has given")
}

// The first page has said when things were; so do the others, although the clock goes on.
func TestPagesAreOfOneMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 100 {
		w.Write(fmt.Sprint(i, ".txt"), strings.Repeat(fmt.Sprint("needle ", i, " in a long line of text ")+strings.Repeat("and more ", 10)+"\n", 5))
	}
	w.turn("write it", "a.txt", "one\n", "written")
	c := w.connect(nil)
	args := []any{"text", "needle", "in", "code", "limit", 100}
	first := c.call("search", args...)
	assert.Contains(t, first, "just now")
	next := lineOfCursor.FindStringSubmatch(first)
	require.NotNil(t, next)
	w.ms.Add(time.Hour.Milliseconds())
	second := c.call("search", append(args, "cursor", next[1])...)
	assert.Contains(t, second, "just now")
	assert.NotContains(t, second, "hour")
}

func TestARepositoryThatGoesAwayIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "a.txt", "one\n", "written")
	c := w.connect(nil)
	c.call("status")
	git, away := filepath.Join(w.Dir, ".git"), filepath.Join(w.Dir, "away")
	require.NoError(t, os.Rename(git, away))
	assert.Contains(t, c.refused("status"), "no_repository")
	w.Git("init", "-q")
	require.NoError(t, os.Rename(git, filepath.Join(w.Dir, "other")))
	require.NoError(t, os.Rename(away, git))
	assert.Contains(t, c.call("status"), "claude-s1")
}

func TestAnotherRepositoryInItsPlaceIsNotRead(t *testing.T) {
	t.Parallel()
	outer := newWorld(t)
	outer.turn("of the outer repository", "a.txt", "one\n", "written")
	inner := newWorld(t)
	inner.Dir = filepath.Join(outer.Dir, "inner")
	require.NoError(t, os.Mkdir(inner.Dir, 0o755))
	inner.Git("init", "-q")
	c := inner.connect(nil)
	assert.NotContains(t, c.call("status"), "outer")
	require.NoError(t, os.RemoveAll(filepath.Join(inner.Dir, ".git")))
	text := c.refused("status")
	assert.Contains(t, text, "the repository for which this server was started is gone")
	assert.NotContains(t, text, "outer")
}

// The path of a repository is not the repository: another folder may get it, also before the first call.
func TestARepositoryThatTakesThePathIsNotRead(t *testing.T) {
	t.Parallel()
	for _, called := range []bool{false, true} {
		w, other := newWorld(t), newWorld(t)
		w.turn("of the first repository", "a.txt", "one\n", "written")
		other.turn("of the other one", "a.txt", "one\n", "written")
		c := w.connect(nil)
		if called {
			c.call("status")
		}
		require.NoError(t, os.Rename(w.Dir, w.Dir+"-away"))
		require.NoError(t, os.Rename(other.Dir, w.Dir))
		text := c.refused("timeline", "run", "claude-s1")
		assert.Contains(t, text, "the repository for which this server was started is gone")
		assert.NotContains(t, text, "other one")
		require.NoError(t, os.Rename(w.Dir, other.Dir))
		require.NoError(t, os.Rename(w.Dir+"-away", w.Dir))
	}
}

func TestAnArgumentIsAValueAndNoFlag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.turn("write it", "gone.txt", "one\n", "written")
	require.NoError(t, os.Remove(filepath.Join(w.Dir, "gone.txt")))
	c := w.connect(nil)
	assert.Contains(t, c.call("diff", "from", "claude-s1:0", "to", "claude-s1:2", "path", "gone.txt"), "+one")
	assert.Contains(t, c.call("diff", "from", "claude-s1:1", "path", "gone.txt"), "+one")
	assert.NotContains(t, c.call("diff", "from", "claude-s1:1", "path", "claude-s1:2"), "+one", "a path, although a frame is called so")
	assert.Contains(t, c.refused("who_changed", "path", "", "revision", "claude-s1:2"), "claude-s1:2 has no file .")
	assert.Contains(t, c.refused("timeline", "run", "--all"), `no run is called "--all"`)
	assert.Contains(t, c.refused("show", "at", "--help"), `no run is called "--help"`)
}
