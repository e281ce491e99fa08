//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/refs"
)

// opencodeScript is what the fake model says to opencode. $REPO is the folder of the repository.
const opencodeScript = `[
 {"match": "TASK-SUB", "steps": [{"calls": [{"name": "bash", "input": {"command": "wc -l notes.txt > count.txt", "description": "count"}}]}, {"text": "Counted."}]},
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "write", "input": {"filePath": "$REPO/hello.txt", "content": "hello\n"}}]},
  {"calls": [{"name": "read", "input": {"filePath": "$REPO/notes.txt"}}]},
  {"calls": [{"name": "edit", "input": {"filePath": "$REPO/notes.txt", "oldString": "beta", "newString": "BETA"}}]},
  {"calls": [{"name": "bash", "input": {"command": "sleep 2; echo shell > shell.txt", "description": "write"}}, {"name": "bash", "input": {"command": "ls", "description": "list"}}]},
  {"calls": [{"name": "bash", "input": {"command": "false", "description": "fail"}}]},
  {"calls": [{"name": "todowrite", "input": {"todos": [{"content": "Look", "status": "pending", "priority": "high"}]}}]},
  {"calls": [{"name": "task", "input": {"description": "count", "prompt": "TASK-SUB count the lines", "subagent_type": "general"}}]},
  {"text": "Done."}]},
 {"match": "WHAT-IF", "steps": [
  {"calls": [{"name": "write", "input": {"filePath": "other.txt", "content": "other\n"}}]},
  {"text": "Done otherwise."}]}
]`

// opencodeConfig lets opencode ask the fake model alone.
const opencodeConfig = `{"autoupdate": false, "share": "disabled", "model": "fake/fake-1", "small_model": "fake/fake-1",
 "provider": {"fake": {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": {"baseURL": "http://` + modelAddress + `/v1", "apiKey": "dummy"},
 "models": {"fake-1": {"name": "fake-1", "limit": {"context": 100000, "output": 8000}}}}},
 "permission": {"edit": "allow", "bash": "allow"}}`

// opencode runs opencode, which believes PWD. npm does not try again what it cannot fetch without a network.
func opencode(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	env := []string{
		"PWD=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(h.home, ".config"), "npm_config_fetch_retries=0",
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
	}
	h.t.Log(h.run(dir, env, args...))
}

// component returns the last part of the name of a run's ref. Ids of opencode have capital letters, so it is not the id.
func component(t *testing.T, run string) string {
	t.Helper()
	name, err := refs.EscapeRun(run)
	require.NoError(t, err)
	return name
}

// newOpencodeHome returns a home in which opencode is recorded.
func newOpencodeHome(t *testing.T) *agentHome {
	t.Helper()
	h := newAgentHome(t, "opencode", opencodeScript)
	h.put(".config/opencode/opencode.json", opencodeConfig)
	h.Write("notes.txt", "alpha\nbeta\n")
	h.smithers("session", "enable", "opencode")
	return h
}

// TestAgentOpencodeTakesAnotherCourse runs the real opencode: its steps are frames with its files, and it goes on from one of them in
// another worktree, with another prompt.
func TestAgentOpencodeTakesAnotherCourse(t *testing.T) {
	h := newOpencodeHome(t)
	opencode(h, h.Dir, "opencode", "run", "--format", "json", "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.checkFrames(run)

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "write", "edit", "bash", "todowrite", "task", "turn 1 finished", "session ended"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "read")
	frames := h.trees(component(t, run))
	assert.NotContains(t, tree(frames, "turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, tree(frames, "write"), "hello.txt")
	assert.NotContains(t, tree(frames, "edit"), "shell.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+component(t, run)+":journal/tool-calls")
	assert.Equal(t, 8, strings.Count(calls, `"outputAt"`), calls)
	assert.Equal(t, 8, strings.Count(calls, `"status":"succeeded"`), "one of the subagent: %s", calls)
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)

	transcripts, err := filepath.Glob(filepath.Join(h.home, ".local", "share", "opencode", "git-smithers", "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, transcripts, 1)
	info, err := os.Stat(transcripts[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	before, err := os.ReadFile(transcripts[0])
	require.NoError(t, err)
	notes, err := os.ReadFile(filepath.Join(h.Dir, "notes.txt"))
	require.NoError(t, err)
	asked := len(h.asked())
	course := h.whatIf(run+":2", "WHAT-IF please")
	opencode(h, course.Dir, course.Command...)
	requests := h.asked()[asked:]
	require.Len(t, requests, 2)
	for i, request := range requests {
		assert.Equal(t, []string{"TASK-ONE", "WHAT-IF"}, request.Said)
		assert.Equal(t, 9+2*i, request.Items, "the system prompt, the prompt, three calls with their results, the new prompt")
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
	calls = h.Git("show", "refs/smithers/_tip/"+component(t, course.Run)+":journal/tool-calls")
	assert.Equal(t, 4, strings.Count(calls, `"outputAt"`), "with the result of the edit, which came after its frame: %s", calls)
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.smithers("verify")

	// The old session of opencode is as it was: the next prompt finds all of it.
	opencode(h, h.Dir, "opencode", "run", "--session", strings.TrimPrefix(run, "opencode-"), "WHAT-IF too")
	requests = h.asked()[asked+2:]
	require.Len(t, requests, 2)
	assert.Equal(t, []string{"TASK-ONE", "WHAT-IF"}, requests[0].Said)
	assert.Equal(t, 19, requests[0].Items)
	assert.Contains(t, h.smithers("timeline", run), "turn 2: ")
	h.checkWhole("opencode", ".local/share/opencode/git-smithers/*.jsonl", func(prompt string) {
		opencode(h, h.Dir, "opencode", "run", "--format", "json", prompt)
	})
}

// TestAgentOpencodeTakesAnotherCourseFromTheFirstPrompt begins a session again before its first prompt.
func TestAgentOpencodeTakesAnotherCourseFromTheFirstPrompt(t *testing.T) {
	h := newOpencodeHome(t)
	opencode(h, h.Dir, "opencode", "run", "--format", "json", "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	asked := len(h.asked())
	course := h.whatIf(run+":0", "WHAT-IF")
	opencode(h, course.Dir, course.Command...)
	for _, request := range h.asked()[asked:] {
		assert.Equal(t, []string{"WHAT-IF"}, request.Said)
	}
	assert.FileExists(t, filepath.Join(course.Dir, "other.txt"))
	assert.NoFileExists(t, filepath.Join(course.Dir, "hello.txt"))
	assert.Contains(t, h.smithers("timeline", course.Run), "WHAT-IF")
	h.smithers("verify")
}

// TestAgentOpencodeLeavesNothing disables the recording again.
func TestAgentOpencodeLeavesNothing(t *testing.T) {
	h := newAgentHome(t, "opencode", opencodeScript)
	before := h.Git("status", "--short", "--ignored")
	h.smithers("session", "enable", "opencode")
	assert.FileExists(t, filepath.Join(h.Dir, ".opencode", "plugin", "git-smithers.js"))
	h.smithers("session", "disable", "opencode")
	assert.NoDirExists(t, filepath.Join(h.Dir, ".opencode"))
	assert.Equal(t, before, h.Git("status", "--short", "--ignored"))
}

// TestAgentOpencodeIsRecordedInTheMiddle enables the recording in the middle of a session: the conversation of before is kept with the
// next prompt.
func TestAgentOpencodeIsRecordedInTheMiddle(t *testing.T) {
	h := newOpencodeHome(t)
	h.smithers("session", "disable", "opencode")
	opencode(h, h.Dir, "opencode", "run", "--format", "json", "TASK-ONE")
	assert.NoDirExists(t, filepath.Join(h.home, ".local", "share", "opencode", "git-smithers"))
	h.smithers("session", "enable", "opencode")
	opencode(h, h.Dir, "opencode", "run", "--continue", "WHAT-IF too")
	run := strings.Fields(h.smithers("runs"))[0]
	asked := len(h.asked())
	course := h.whatIf(run+":1", "WHAT-IF please")
	opencode(h, course.Dir, course.Command...)
	request := h.asked()[asked:][0]
	assert.Equal(t, []string{"TASK-ONE", "WHAT-IF", "WHAT-IF"}, request.Said)
	assert.Equal(t, 22, request.Items, "the whole first turn, the second up to its call, the new prompt")
	h.smithers("verify")
}
