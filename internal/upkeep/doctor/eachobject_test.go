package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/captures"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// filled adds runs to a clinic with all that an entry can have: files, links and folders, large values and collections of several
// levels, attempts, logs, calls, events, a rendered tree, and a fork.
func (c *clinic) filled() {
	c.t.Helper()
	c.Write("agent/a.txt", "one\n")
	c.Write("agent/deep/b.txt", "two\n")
	require.NoError(c.t, os.Symlink("a.txt", filepath.Join(c.Dir, "agent", "link")))
	s := c.open()
	capturer, err := captures.Open(c.t.Context(), s, "full")
	require.NoError(c.t, err)
	var rows []string
	for i := range 60 {
		rows = append(rows, fmt.Sprintf(`{"op":"set","collection":"outputs/results","key":"n%d::0","value":{"text":%q}}`, i, strings.Repeat(strconv.Itoa(i), 40)))
	}
	for _, line := range []string{
		`{"worktree":true,"state":{"nodes":[{"nodeId":"a","iteration":0,"state":"in-progress"}],"input":{"topic":"x"}},"frame":{"kind":"element","tag":"task","props":{"id":"a"},"children":[{"kind":"text","text":"a"}]},"events":[{"type":"Said"}]}`,
		`{"worktree":true,"changes":[` + strings.Join(rows, ",") + `,{"op":"set","collection":"outputs/results","key":"large::0","value":` +
			`"` + strings.Repeat("0123456789abcdef", 20_000) + `"}]}`,
		`{"worktree":false,"changes":[{"op":"set","collection":"attempts","key":"a::0::1","value":{"nodeId":"a","iteration":0,"attempt":1,"state":"in-progress","startedAtMs":1}},` +
			`{"op":"set","collection":"logs","key":"a::0::1","value":"a line\n"}]}`,
	} {
		req, err := captures.ParseCapture([]byte(line))
		require.NoError(c.t, err)
		_, err = capturer.Capture(c.t.Context(), req)
		require.NoError(c.t, err)
		c.Write("agent/a.txt", "changed "+strconv.Itoa(len(line))+"\n")
	}
	_, err = s.Fork(c.t.Context(), timeline.ForkRequest{From: "full:1", RunID: "fork"})
	require.NoError(c.t, err)
	require.NoError(c.t, s.Close())
}

// Whichever object a run reaches is missing, the doctor finds that, although the checks of the histories have read most objects already.
func TestTheDoctorFindsEachObjectThatIsMissing(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.filled()
	packs, err := filepath.Glob(filepath.Join(c.GitDir, "objects/pack/*.pack"))
	require.NoError(t, err)
	for _, pack := range packs {
		data, err := os.ReadFile(pack)
		require.NoError(t, err)
		for _, suffix := range []string{".pack", ".idx", ".rev"} {
			_ = os.Remove(strings.TrimSuffix(pack, ".pack") + suffix)
		}
		c.GitInput(string(data), "unpack-objects", "-q")
	}
	require.Empty(t, c.examine())
	objects := strings.Split(c.Git("rev-list", "--objects", "--no-object-names", "--glob=refs/smithers"), "\n")
	require.Greater(t, len(objects), 100)
	step := repotest.Size(5, 1)
	for i := 0; i < len(objects); i += step {
		id := objects[i]
		path := filepath.Join(c.GitDir, "objects", id[:2], id[2:])
		require.NoError(t, os.Rename(path, path+".away"))
		if len(c.examine()) == 0 {
			assert.Fail(t, "not found", "%s %s is missing", c.Git("rev-parse", "--verify", "-q", id), id)
		}
		require.NoError(t, os.Rename(path+".away", path))
	}
	require.Empty(t, c.examine())
}
