//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// claude runs Claude Code.
func claude(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	env := []string{
		"ANTHROPIC_BASE_URL=http://" + modelAddress, "ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
	}
	h.run(dir, env, append([]string{"claude", "-p", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Edit,Read,Agent", "--output-format", "json"}, args...)...)
}

// TestAgentClaudeTakesAnotherCourse runs the real Claude Code: its steps are frames with its files, and it goes on from one of them in another
// worktree, with another prompt.
func TestAgentClaudeTakesAnotherCourse(t *testing.T) {
	h := newAgentHome(t, "claude", claudeScript)
	h.Write("notes.txt", "alpha\nbeta\n")
	h.smithers("session", "enable", "claude")
	claude(h, h.Dir, "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "Write", "Edit", "Bash, Bash", "Agent", "turn 1 finished", "session ended"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "Read")
	frames := h.trees(run)
	assert.NotContains(t, tree(frames, "turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, tree(frames, "Write"), "hello.txt")
	assert.NotContains(t, tree(frames, "Edit"), "shell.txt")
	assert.Contains(t, tree(frames, "Bash, Bash"), "shell.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+run+":journal/tool-calls")
	assert.Equal(t, 8, strings.Count(calls, `"outputAt"`), calls) // one of the subagent
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)

	h.checkFrames(run)
	transcripts, err := filepath.Glob(filepath.Join(h.home, ".claude", "projects", "*", "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, transcripts, 1)
	before, err := os.ReadFile(transcripts[0])
	require.NoError(t, err)
	notes, err := os.ReadFile(filepath.Join(h.Dir, "notes.txt"))
	require.NoError(t, err)

	course := h.whatIf(run+":2", "WHAT-IF please")
	asked := len(h.asked())
	claude(h, course.Dir, course.Command[1:]...)
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
	h.checkWhole("claude", ".claude/projects/*/*.jsonl", func(prompt string) { claude(h, h.Dir, prompt) })
	h.checkDisable("claude")
}
