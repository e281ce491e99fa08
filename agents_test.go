//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// claudeScript is what the fake model says to Claude Code. $REPO is the folder of the repository.
const claudeScript = `[
 {"match": "TASK-SUB", "steps": [{"calls": [{"name": "Bash", "input": {"command": "wc -l notes.txt", "description": "count"}}]}, {"text": "Counted."}]},
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "Write", "input": {"file_path": "$REPO/hello.txt", "content": "hello\n"}}]},
  {"calls": [{"name": "Read", "input": {"file_path": "$REPO/notes.txt"}}]},
  {"calls": [{"name": "Edit", "input": {"file_path": "$REPO/notes.txt", "old_string": "beta", "new_string": "BETA"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "ls", "description": "list"}}, {"name": "Bash", "input": {"command": "echo shell > shell.txt", "description": "write"}}]},
  {"calls": [{"name": "Bash", "input": {"command": "false", "description": "fail"}}]},
  {"calls": [{"name": "Agent", "input": {"description": "count", "prompt": "TASK-SUB count the lines", "subagent_type": "general-purpose"}}]},
  {"text": "Done."}]},
 {"match": "WHAT-IF", "steps": [{"calls": [{"name": "Bash", "input": {"command": "echo other > other.txt", "description": "write"}}]}, {"text": "Done otherwise."}]}
]`

// agentHome is a coding agent with nothing but a repository, a home of its own, and a fake model.
type agentHome struct {
	*repotest.Repo

	t                       *testing.T
	home, bin, script, said string
}

func newAgentHome(t *testing.T) *agentHome {
	t.Helper()
	if os.Getenv("AGENTS") == "" {
		t.Skip("make test-agents runs real agents")
	}
	agent, err := filepath.Abs(".tools/claude/node_modules/.bin")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(agent, "claude")); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "there is no Claude Code")
		t.Skip("there is no Claude Code")
	}
	dir := t.TempDir()
	h := &agentHome{
		repotest.New(t, repotest.Commit), t,
		filepath.Join(dir, "home"), filepath.Join(dir, "bin"), filepath.Join(dir, "script"), filepath.Join(dir, "said"),
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, folder := range []string{h.home, h.bin} {
		require.NoError(t, os.Mkdir(folder, 0o777))
	}
	for _, name := range []string{"git-smithers", "agent-jail"} {
		require.NoError(t, os.Symlink(self, filepath.Join(h.bin, name)))
	}
	h.Env = append(h.Env, "HOME="+h.home, "PATH="+h.bin+":"+agent+":"+os.Getenv("PATH"))
	require.NoError(t, os.WriteFile(h.script, []byte(strings.ReplaceAll(claudeScript, "$REPO", h.Dir)), 0o600))
	return h
}

// smithers runs git smithers, which must succeed, and returns its output.
func (h *agentHome) smithers(args ...string) string {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.bin, "git-smithers"), args...)
	cmd.Dir, cmd.Env = h.Dir, h.Env
	out, err := cmd.Output()
	require.NoError(h.t, err, "%s", out)
	return string(out)
}

// claude runs Claude Code in a folder, without any network but that to the fake model.
func (h *agentHome) claude(dir string, args ...string) {
	h.t.Helper()
	args = append([]string{
		h.script, h.said, "claude", "-p", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Edit,Read,Agent", "--output-format", "json",
	}, args...)
	cmd := exec.Command(filepath.Join(h.bin, "agent-jail"), args...)
	cmd.Dir = dir
	cmd.Env = append(h.Env, "TERM=dumb", "LANG=C.UTF-8", "ANTHROPIC_BASE_URL=http://"+modelAddress, "ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(h.t, err, "%s", out)
}

// A modelHeard is what the fake model has noted of a request: which prompts it knew, in order.
type modelHeard struct{ Said []string }

// asked returns the requests that the fake model was sent.
func (h *agentHome) asked() []modelHeard {
	h.t.Helper()
	data, err := os.ReadFile(h.said)
	require.NoError(h.t, err)
	var all []modelHeard
	for text := range strings.Lines(string(data)) {
		var one modelHeard
		require.NoError(h.t, json.Unmarshal([]byte(text), &one))
		all = append(all, one)
	}
	return all
}

// TestAgentClaudeTakesAnotherCourse runs the real Claude Code: its steps are frames with its files, and it goes on from one of them in another
// worktree, with another prompt.
func TestAgentClaudeTakesAnotherCourse(t *testing.T) {
	h := newAgentHome(t)
	h.Write("notes.txt", "alpha\nbeta\n")
	h.smithers("session", "enable", "claude")
	h.claude(h.Dir, "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "Write", "Edit", "Bash, Bash", "Agent", "turn 1 finished", "session ended"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "Read")
	frames := make(map[string]string) // the trees, by what the frames are about
	for line := range strings.Lines(h.Git("log", "--format=%H %s", "refs/smithers/_tip/"+run)) {
		commit, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		frames[subject] = h.Git("ls-tree", "--name-only", commit+":worktree")
	}
	find := func(subject string) string {
		for full, tree := range frames {
			if strings.Contains(full, subject) {
				return tree
			}
		}
		return "no frame"
	}
	assert.NotContains(t, find("turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, find("Write"), "hello.txt")
	assert.NotContains(t, find("Edit"), "shell.txt")
	assert.Contains(t, find("Bash, Bash"), "shell.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+run+":journal/tool-calls")
	assert.Equal(t, 8, strings.Count(calls, `"outputAt"`), calls) // one of the subagent
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)

	transcripts, err := filepath.Glob(filepath.Join(h.home, ".claude", "projects", "*", "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, transcripts, 1)
	before, err := os.ReadFile(transcripts[0])
	require.NoError(t, err)
	notes, err := os.ReadFile(filepath.Join(h.Dir, "notes.txt"))
	require.NoError(t, err)

	var course struct {
		Dir, Run, Session string
		Command           []string
	}
	require.NoError(t, json.Unmarshal([]byte(h.smithers("session", "what-if", run+":2", "WHAT-IF please", "--json")), &course))
	asked := len(h.asked())
	h.claude(course.Dir, course.Command[1:]...)
	requests := h.asked()[asked:]
	require.Len(t, requests, 2)
	for _, request := range requests {
		assert.Equal(t, []string{"TASK-ONE", "WHAT-IF"}, request.Said)
	}

	assert.FileExists(t, filepath.Join(course.Dir, "other.txt"))
	assert.FileExists(t, filepath.Join(course.Dir, "hello.txt"))
	assert.NoFileExists(t, filepath.Join(course.Dir, "shell.txt"), "the shell came later")
	assert.NoFileExists(t, filepath.Join(h.Dir, "other.txt"))
	after, err := os.ReadFile(transcripts[0])
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	now, err := os.ReadFile(filepath.Join(h.Dir, "notes.txt"))
	require.NoError(t, err)
	assert.Equal(t, string(notes), string(now))
	assert.Contains(t, h.smithers("timeline", course.Run), "turn 2: WHAT-IF please")
	assert.Contains(t, h.smithers("branches", run), course.Run)
	h.smithers("verify")
}
