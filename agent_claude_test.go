//go:build linux

package main

import (
	"encoding/json"
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

// claudeEnv returns the variables with which Claude Code asks the fake model alone.
func claudeEnv() []string {
	return []string{
		"ANTHROPIC_BASE_URL=http://" + modelAddress, "ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
	}
}

// claude runs Claude Code.
func claude(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	h.run(dir, claudeEnv(), append([]string{"claude", "-p", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Edit,Read,Agent", "--output-format", "json"}, args...)...)
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

// judgedScript is what the fake model says to the agents of judged courses.
const judgedScript = `[
 {"match": "TASK-ONE", "steps": [{"calls": [{"name": "Bash", "input": {"command": "echo one > one.txt", "description": "write"}}]}, {"text": "Done."}]},
 {"match": "TASK-BAD", "steps": [{"text": "I do not want to."}]},
 {"match": "TRY-AGAIN", "steps": [{"calls": [{"name": "Bash", "input": {"command": "basename $PWD > tried.txt", "description": "write"}}]}, {"text": "Tried."}]},
 {"match": "AFTERWARDS", "steps": [{"text": "I have tried."}]}
]`

// TestAgentClaudeIsJudged runs three real agents from one prompt, side by side. A command judges them, and the winner's files and conversation come back.
func TestAgentClaudeIsJudged(t *testing.T) {
	h := newAgentHome(t, "claude", judgedScript)
	h.Write("notes.txt", "alpha\n")
	h.smithers("session", "enable", "claude")
	claude(h, h.Dir, "TASK-ONE")
	claude(h, h.Dir, "--continue", "TASK-BAD")
	first := strings.Fields(h.smithers("runs", "--sessions"))[0]
	h.run(h.Dir, claudeEnv(), "git-smithers", "session", "what-if", "@:turn:2", "TRY-AGAIN", "--times", "3", "--run", "--yes", "--group", "tries", "--",
		"--permission-mode", "acceptEdits", "--allowedTools", "Bash")
	var g struct {
		Group struct {
			Variants []struct{ RunID, Status string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(h.smithers("show", "tries", "--json")), &g))
	require.Len(t, g.Group.Variants, 3)
	for _, v := range g.Group.Variants {
		assert.Equal(t, "finished", v.Status)
		assert.Contains(t, h.smithers("timeline", v.RunID), "turn 2: TRY-AGAIN")
	}

	best := g.Group.Variants[1].RunID
	h.smithers("compare", "--group", "tries", "--score", `if [ "$SMITHERS_RUN_ID" = `+best+` ]; then echo 2; else cat tried.txt | wc -l; fi`)
	h.smithers("land", "--best", "tries")
	assert.FileExists(t, filepath.Join(h.Dir, "tried.txt"))
	var next course
	require.NoError(t, json.Unmarshal([]byte(h.smithers("session", "continue", best, "--json")), &next))
	assert.Equal(t, h.Dir, next.Dir)
	asked := len(h.asked())
	claude(h, h.Dir, append(next.Command[1:], "AFTERWARDS")...)
	assert.Equal(t, []string{"TASK-ONE", "TRY-AGAIN", "AFTERWARDS"}, h.asked()[asked].Said)
	assert.Contains(t, h.smithers("timeline", next.Run), "turn 3: AFTERWARDS")
	assert.Contains(t, h.smithers("branches", best), next.Run)
	assert.Contains(t, h.smithers("timeline", first), "goes on in "+next.Run)
	h.smithers("verify")
}
