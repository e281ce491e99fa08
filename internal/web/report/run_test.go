package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cli"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/web/report"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A desk is a repository in which a test calls git smithers.
type desk struct {
	*repotest.Repo

	t *testing.T
}

// newDesk makes a repository with a commit. Files of its working copy are captured.
func newDesk(t *testing.T) *desk {
	t.Helper()
	return &desk{repotest.New(t, repotest.Commit), t}
}

// call calls git smithers with the exit status want, and returns what it prints.
func (d *desk) call(want int, args ...string) string {
	d.t.Helper()
	var out, talk bytes.Buffer
	exit := cli.Main(context.Background(), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &talk, Dir: d.Dir, Now: time.Now,
		Env: append(slices.Clone(d.Env), "GIT_PAGER=cat", "GIT_SMITHERS_FSYNC=0", "GIT_SMITHERS_WORKTREE=all", "TERM=xterm"),
	}, args)
	require.Equal(d.t, want, exit, talk.String())
	return out.String()
}

// hostileRun makes a run that fails, whose logs, outputs and files are hostile, a fork of it, a run of another engine whose names are
// hostile, too, and a session.
func (d *desk) hostileRun() {
	d.t.Helper()
	text := strings.Join(hostileTexts(), "\n")
	d.Write("said.txt", text)
	var names []string
	for _, name := range hostileTexts() {
		if name = strings.NewReplacer("/", "_", "\x00", "").Replace(name); strings.Trim(name, " ") != "" && len(name) < 200 {
			names = append(names, name)
		}
	}
	d.Write("names.sh", "mkdir -p hostile\n"+shellWrites(names))
	quoted, err := json.Marshal(hostileTexts())
	require.NoError(d.t, err)
	d.Write("out.json", `{"<script>`+mark+`":`+string(quoted)+`}`)
	flow, err := json.Marshal(map[string]any{
		"name":    "flow",
		"outputs": map[string]any{"verdict": map[string]any{}},
		"tasks": []any{
			map[string]any{"id": "one", "output": "verdict", "run": "sh names.sh; cat said.txt >&2; cat out.json"},
			map[string]any{"id": "two", "needs": []string{"one"}, "run": "cat said.txt | tee -a hostile/log.txt; exit 3"},
		},
	})
	require.NoError(d.t, err)
	d.Write("flow.json", string(flow))
	d.Git("add", "-A")
	d.Git("commit", "-q", "-m", "hostile")
	d.call(fault.ExitFailed, "run", "flow.json", "--run-id", "r", "--input", `{"<b>`+mark+`":`+string(quoted)+`}`)
	d.call(fault.ExitOK, "fork", "r:1", "--run-id", "f", "--label", strings.ReplaceAll(hostileTexts()[0]+hostileTexts()[14], "\x00", ""))
	d.capture()
	var lines []string
	for i, said := range hostileTexts() {
		tool := map[string]any{"type": "tool_use", "id": fmt.Sprint("t", i), "name": said, "input": map[string]string{"command": said}}
		result := map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprint("t", i), "is_error": true, "content": said}
		for _, line := range []any{
			map[string]any{"type": "user", "message": map[string]any{"content": said}},
			map[string]any{"type": "assistant", "message": map[string]any{"content": []any{map[string]string{"type": "text", "text": said}, tool}}},
			map[string]any{"type": "user", "message": map[string]any{"content": []any{result}}},
		} {
			data, err := json.Marshal(line)
			require.NoError(d.t, err)
			lines = append(lines, string(data))
		}
	}
	d.Write("s.jsonl", strings.Join(lines, "\n")+"\n")
	d.call(fault.ExitOK, "session", "import", "claude", "s.jsonl")
}

// capture makes the run c as another engine would, a step for each hostile text.
func (d *desk) capture() {
	d.t.Helper()
	taken := 0
	for i, text := range hostileTexts() {
		set := func(collection, key string, value any) map[string]any {
			return map[string]any{"op": "set", "collection": collection, "key": key, "value": value}
		}
		data, err := json.Marshal(map[string]any{
			"subject": text, "run": map[string]any{"workflowName": text, "status": "failed", "error": text},
			"changes": []any{
				set("nodes", text+"::0", map[string]any{"state": "failed", "outputTable": text, "label": text, "needs": []string{text}, "lastAttempt": 1}),
				set("attempts", text+"::0::1", map[string]any{"state": "failed", "startedAtMs": i, "finishedAtMs": i + 5, "error": text}),
				set("tool-calls", text+"::0::1::1", map[string]any{"toolName": text, "status": "failed", "startedAtMs": i, "finishedAtMs": i + 1, "input": text}),
				set("logs", text+"::0::1", text), set("outputs/"+text, text+"::0", text), set("input", "", map[string]string{text: text}),
				set("approvals", text+"::0", map[string]any{"status": "requested", "requestedAtMs": 1, "attempt": 1, "title": text, "summary": text}),
			},
		})
		require.NoError(d.t, err)
		var out, talk bytes.Buffer
		if cli.Main(context.Background(), cli.Streams{
			In: bytes.NewReader(data), Out: &out, Err: &talk, Dir: d.Dir, Now: time.Now, Env: append(slices.Clone(d.Env), "GIT_SMITHERS_FSYNC=0"),
		}, []string{"capture", "c"}) == fault.ExitOK {
			taken++
		} else {
			d.t.Log(talk.String())
		}
	}
	assert.Greater(d.t, taken, 20)
}

// shellWrites returns commands that write a line to files with the names in the folder hostile.
func shellWrites(names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString("echo x > 'hostile/" + strings.ReplaceAll(name, "'", `'\''`) + "'\n")
	}
	return b.String()
}

func TestTheReportOfAHostileRunHasItsTextsAsText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.hostileRun()
	for _, runs := range [][]string{{"r"}, {"f"}, {"c"}, {"claude-s"}, {"r", "f", "c", "claude-s"}} {
		page := d.call(fault.ExitOK, append([]string{"report"}, runs...)...)
		checkPage(t, []byte(page))
		assert.LessOrEqual(t, len(page), report.MaxBytes)
		assert.Contains(t, page, "&lt;script&gt;")
		checkImage(t, []byte(d.call(fault.ExitOK, append([]string{"report", "--format", "svg"}, runs...)...)))
		checkComment(t, []byte(d.call(fault.ExitOK, append([]string{"report", "--format", "md"}, runs...)...)))
	}
	page := d.call(fault.ExitOK, "report", "r")
	for _, part := range []string{"</b>: log", "hostile/", "&lt;U+202E&gt;", "&lt;0xFF&gt;", "the last change"} {
		assert.Contains(t, page, part)
	}
}

// A report is written whole or not at all, and replaces nothing that it was not told to.
func TestAReportReplacesAFileOnlyWithForce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Write("flow.yaml", "name: flow\ntasks:\n  - {id: one, run: echo hi}\n")
	d.call(fault.ExitOK, "run", "flow.yaml", "--run-id", "a")
	path := filepath.Join(d.Dir, "a.html")
	d.call(fault.ExitOK, "report", "a", "-o", "a.html")
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	d.call(fault.ExitUsage, "report", "a", "-o", "a.html")
	d.call(fault.ExitNotFound, "report", "b", "-o", "a.html", "--force")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	d.call(fault.ExitOK, "report", "a", "-o", "a.html", "--force")
	left, err := filepath.Glob(filepath.Join(d.Dir, ".new-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
