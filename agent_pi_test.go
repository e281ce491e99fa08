//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// piScript is what the fake model says to pi. $REPO is the folder of the repository.
const piScript = `[
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "write", "input": {"path": "$REPO/hello.txt", "content": "hello\n"}}]},
  {"calls": [{"name": "read", "input": {"path": "notes.txt"}}]},
  {"calls": [{"name": "edit", "input": {"path": "notes.txt", "edits": [{"oldText": "beta", "newText": "BETA"}]}}]},
  {"calls": [{"name": "bash", "input": {"command": "echo shell > shell.txt"}}]},
  {"calls": [{"name": "bash", "input": {"command": "sleep 0.2; echo one > one.txt"}}, {"name": "write", "input": {"path": "two.txt", "content": "two\n"}}]},
  {"calls": [{"name": "bash", "input": {"command": "false"}}]},
  {"text": "Done."}]},
 {"match": "QUICK", "steps": [{"text": "Quick."}]},
 {"match": "WHAT-IF", "steps": [{"calls": [{"name": "bash", "input": {"command": "echo other > other.txt"}}]}, {"text": "Done otherwise."}]}
]`

// piModels is pi's models.json with the fake model.
const piModels = `{"providers": {"fake": {"baseUrl": "http://` + modelAddress + `/v1", "api": "openai-completions", "apiKey": "dummy", "models": [
 {"id": "fake-1", "name": "fake-1", "reasoning": false, "input": ["text"], "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
  "contextWindow": 100000, "maxTokens": 8000}]}}}`

// newPiHome returns a home for pi, with notes.txt in the repository.
func newPiHome(t *testing.T) *agentHome {
	t.Helper()
	h := newAgentHome(t, "pi", piScript)
	h.put(".pi/agent/models.json", piModels)
	h.Write("notes.txt", "alpha\nbeta\n")
	return h
}

// pi runs pi.
func pi(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	h.run(dir, []string{"PI_OFFLINE=1"}, append([]string{"pi", "-p"}, args...)...)
}

// piSessions returns the texts of pi's session files, by their paths.
func piSessions(h *agentHome) map[string]string {
	h.t.Helper()
	return filesIn(h.t, filepath.Join(h.home, ".pi", "agent", "sessions"))
}

// filesIn returns the texts of the files in a folder, and its folders, but nothing in folders named .git.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			files[path] = "a folder"
			return nil
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

// TestAgentPiTakesAnotherCourse runs the real pi: its batches are frames with its files, and it goes on from one of them, and from
// before its first prompt, in other worktrees, with another prompt.
func TestAgentPiTakesAnotherCourse(t *testing.T) {
	h := newPiHome(t)
	h.smithers("session", "enable", "pi")
	pi(h, h.Dir, "--provider", "fake", "--model", "fake-1", "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")

	frames := h.trees(run)
	for _, step := range []struct{ subject, last, next string }{
		{"turn 1: TASK-ONE", "notes.txt", "hello.txt"},
		{"write", "hello.txt", "shell.txt"},
		{"edit", "hello.txt", "shell.txt"},
		{"bash, write", "one.txt\nshell.txt\nsrc\ntwo.txt", "other.txt"},
		{"turn 1 finished", "two.txt", "other.txt"},
		{"session ended", "two.txt", "other.txt"},
	} {
		assert.Contains(t, frames[step.subject], step.last, step.subject)
		assert.NotContains(t, frames[step.subject], step.next, step.subject)
	}
	h.checkFrames(run)
	assert.NotContains(t, frames, "read")
	tip := "refs/smithers/_tip/" + run
	assert.Equal(t, "8", h.Git("rev-list", "--count", tip), "the prompt, 5 batches, the answer and the end")
	assert.Equal(t, "alpha\nbeta", h.Git("show", tip+"~6:worktree/notes.txt"))
	assert.Equal(t, "alpha\nBETA", h.Git("show", tip+"~5:worktree/notes.txt"))
	assert.NotContains(t, h.Git("ls-tree", "--name-only", tip+"~5:worktree"), "shell.txt")
	assert.Contains(t, h.Git("ls-tree", "--name-only", tip+"~4:worktree"), "shell.txt")
	assert.NotContains(t, h.Git("ls-tree", "--name-only", tip+"~4:worktree"), "two.txt")
	calls := h.Git("show", tip+":journal/tool-calls")
	assert.Equal(t, 7, strings.Count(calls, `"outputAt"`), calls)
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)
	assert.Contains(t, h.smithers("sql", "SELECT * FROM prompts"), "Done.")

	sessions, files := piSessions(h), filesIn(t, h.Dir)
	course := h.whatIf(run+":2", "WHAT-IF please")
	asked := len(h.asked())
	pi(h, course.Dir, course.Command[1:]...)
	requests := h.asked()[asked:]
	require.Len(t, requests, 2)
	for i, request := range requests {
		assert.Equal(t, []string{"TASK-ONE", "WHAT-IF"}, request.Said)
		assert.Equal(t, 9+2*i, request.Items, "the system, the prompt, three calls, their results, the new prompt")
	}
	for name, there := range map[string]bool{"other.txt": true, "hello.txt": true, "shell.txt": false, ".pi/extensions/git-smithers.ts": true} {
		_, err := os.Stat(filepath.Join(course.Dir, filepath.FromSlash(name)))
		assert.Equal(t, there, err == nil, name)
	}
	assert.Contains(t, h.smithers("timeline", course.Run), "turn 2: WHAT-IF please")
	assert.Contains(t, h.smithers("timeline", course.Run), "turn 2 finished")
	assert.Contains(t, tree(h.trees(course.Run), "bash"), "other.txt")

	first := h.whatIf(run+"@turn:1", "WHAT-IF at once")
	asked = len(h.asked())
	pi(h, first.Dir, first.Command[1:]...)
	requests = h.asked()[asked:]
	require.Len(t, requests, 2)
	for i, request := range requests {
		assert.Equal(t, []string{"WHAT-IF"}, request.Said)
		assert.Equal(t, 2+2*i, request.Items, "the system and the new prompt")
	}
	assert.FileExists(t, filepath.Join(first.Dir, "other.txt"))
	assert.NoFileExists(t, filepath.Join(first.Dir, "hello.txt"))
	assert.Contains(t, h.smithers("timeline", first.Run), "turn 1: WHAT-IF at once")

	again := h.whatIf(first.Run, "WHAT-IF again") // a course of a course
	asked = len(h.asked())
	pi(h, again.Dir, again.Command[1:]...)
	requests = h.asked()[asked:]
	require.Len(t, requests, 2)
	assert.Equal(t, []string{"WHAT-IF", "WHAT-IF"}, requests[0].Said)
	assert.Equal(t, 6, requests[0].Items, "the system, the prompt, the call, its result, the answer, the new prompt")

	assert.Equal(t, files, filesIn(t, h.Dir))
	now := piSessions(h)
	for path, text := range sessions {
		assert.Equal(t, text, now[path], path)
	}
	assert.Contains(t, h.smithers("branches", run), course.Run)
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.smithers("verify")
	h.checkWhole("pi", ".pi/agent/sessions/*/*.jsonl", func(prompt string) { pi(h, h.Dir, "--provider", "fake", "--model", "fake-1", prompt) })
}

// TestAgentPiIsNotDisturbed runs the real pi with the extension, but without git-smithers.
func TestAgentPiIsNotDisturbed(t *testing.T) {
	h := newPiHome(t)
	before := filesIn(t, h.Dir)
	h.smithers("session", "enable", "pi")
	h.smithers("session", "disable", "pi")
	assert.Equal(t, before, filesIn(t, h.Dir))

	h.smithers("session", "enable", "pi")
	var without []string // folders without git-smithers
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "git-smithers")); err != nil {
			without = append(without, dir)
		}
	}
	programs, err := filepath.Abs(filepath.Join(".tools", "pi", "node_modules", ".bin"))
	require.NoError(t, err)
	path := strings.Join(append([]string{programs}, without...), string(filepath.ListSeparator))
	out := h.run(h.Dir, []string{"PI_OFFLINE=1", "PATH=" + path}, "pi", "-p", "--provider", "fake", "--model", "fake-1", "TASK-ONE")
	assert.Equal(t, "Done.\n", out)
	assert.FileExists(t, filepath.Join(h.Dir, "two.txt"))
	assert.Empty(t, h.Git("for-each-ref", "refs/smithers"))
}

// TestAgentPiWaitsForSlowHooks runs the real pi with hooks that are slower than the model: their frames come in the order of the events. The
// conversation is compacted between two prompts.
func TestAgentPiWaitsForSlowHooks(t *testing.T) {
	h := newPiHome(t)
	h.put(".pi/agent/settings.json", `{"compaction": {"enabled": true, "reserveTokens": 99995, "keepRecentTokens": 1}}`)
	h.smithers("session", "enable", "pi")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(h.bin, "fast"), 0o777))
	fast := filepath.Join(h.bin, "fast", "git-smithers")
	require.NoError(t, os.Symlink(self, fast))
	slow := filepath.Join(h.bin, "git-smithers")
	require.NoError(t, os.Remove(slow))
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nsleep 0.5\nexec "+fast+" \"$@\"\n"), 0o700))

	pi(h, h.Dir, "--provider", "fake", "--model", "fake-1", "QUICK one", "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	subjects := strings.Split(h.Git("log", "--reverse", "--format=%s", "refs/smithers/_tip/"+run), "\n")
	assert.Contains(t, subjects, "before the conversation is compacted")
	assert.Equal(t, []string{
		"turn 1: QUICK one", "turn 1 finished", "turn 2: TASK-ONE", "write", "edit", "bash", "bash, write", "bash", "turn 2 finished", "session ended",
	}, slices.DeleteFunc(subjects, func(s string) bool { return strings.HasPrefix(s, "before") }))
	frames := h.trees(run)
	assert.NotContains(t, frames["turn 2: TASK-ONE"], "hello.txt")
	assert.Contains(t, frames["edit"], "hello.txt")
	assert.NotContains(t, frames["edit"], "shell.txt", "the next call waits for the hook")
	assert.Contains(t, frames["bash, write"], "one.txt")
}
