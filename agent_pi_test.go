//go:build linux

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// piTools lists the versions of pi: the newest one, and the last one of its old package.
var piTools = []string{"pi", "pi-older"}

// eachPi runs a test with each version of pi.
func eachPi(t *testing.T, test func(t *testing.T, h *agentHome)) {
	t.Helper()
	tools := piTools
	if os.Getenv("AGENTS") != "1" { // one version, for all agents
		tools = piTools[:1]
	}
	for _, tool := range tools {
		t.Run(tool, func(t *testing.T) { test(t, newPiHome(t, tool)) })
	}
}

// newPiHome returns a home for pi, with notes.txt in the repository. The newest pi needs a Node that not every machine has.
func newPiHome(t *testing.T, tool string) *agentHome {
	t.Helper()
	h := newAgentHomeOf(t, tool, "pi", piScript)
	h.put(".pi/agent/models.json", piModels)
	h.Write("notes.txt", "alpha\nbeta\n")
	return h
}

// pi runs pi.
func pi(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	runPi(h, dir, nil, args...)
}

// runPi runs pi with more variables, and returns what it says. The newest pi does not load extensions of a folder before it is told to trust the folder.
func runPi(h *agentHome, dir string, env []string, args ...string) string {
	h.t.Helper()
	command := []string{"pi", "-p"}
	if h.tool != "pi-older" {
		command = append(command, "--approve")
	}
	return h.run(dir, append(env, "PI_OFFLINE=1"), append(command, args...)...)
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
	eachPi(t, checkPiTakesAnotherCourse)
}

func checkPiTakesAnotherCourse(t *testing.T, h *agentHome) {
	t.Helper()
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
	eachPi(t, checkPiIsNotDisturbed)
}

func checkPiIsNotDisturbed(t *testing.T, h *agentHome) {
	t.Helper()
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
	path := strings.Join(append(h.programs, without...), string(filepath.ListSeparator))
	out := runPi(h, h.Dir, []string{"PATH=" + path}, "--provider", "fake", "--model", "fake-1", "TASK-ONE")
	assert.Equal(t, "Done.\n", out)
	assert.FileExists(t, filepath.Join(h.Dir, "two.txt"))
	assert.Empty(t, h.Git("for-each-ref", "refs/smithers"))
}

// piShorten is an extension with a command that writes a file, and then has the conversation compacted, as /compact does.
const piShorten = `import { writeFileSync } from "node:fs"
export default function (pi) {
 pi.registerCommand("shorten", {handler: (_, ctx) => new Promise((done) => {
  writeFileSync(ctx.cwd + "/before.txt", "before")
  ctx.compact({onComplete: done, onError: done})
 })})
}
`

// TestAgentPiWaitsForSlowHooks runs the real pi with hooks that are slower than the model: their frames come in the order of the events. The
// conversation is compacted between two prompts.
func TestAgentPiWaitsForSlowHooks(t *testing.T) {
	eachPi(t, checkPiWaitsForSlowHooks)
}

func checkPiWaitsForSlowHooks(t *testing.T, h *agentHome) {
	t.Helper()
	h.put(".pi/agent/settings.json", `{"compaction": {"enabled": false, "keepRecentTokens": 1}}`)
	h.put(".pi/agent/extensions/shorten.ts", piShorten)
	h.smithers("session", "enable", "pi")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(h.bin, "fast"), 0o777))
	fast := filepath.Join(h.bin, "fast", "git-smithers")
	require.NoError(t, os.Symlink(self, fast))
	slow := filepath.Join(h.bin, "git-smithers")
	require.NoError(t, os.Remove(slow))
	require.NoError(t, os.WriteFile(slow, []byte("#!/bin/sh\nsleep 0.5\nexec "+fast+" \"$@\"\n"), 0o700))

	pi(h, h.Dir, "--provider", "fake", "--model", "fake-1", "QUICK one", "/shorten", "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	subjects := strings.Split(h.Git("log", "--reverse", "--format=%s", "refs/smithers/_tip/"+run), "\n")
	assert.Contains(t, subjects, "before the conversation is compacted")
	assert.Equal(t, []string{
		"turn 1: QUICK one", "turn 1 finished", "turn 2: TASK-ONE", "write", "edit", "bash", "bash, write", "bash", "turn 2 finished", "session ended",
	}, slices.DeleteFunc(subjects, func(s string) bool { return strings.HasPrefix(s, "before") }))
	frames := h.trees(run)
	assert.Contains(t, frames["before the conversation is compacted"], "before.txt")
	assert.NotContains(t, frames["turn 2: TASK-ONE"], "hello.txt")
	assert.Contains(t, frames["edit"], "hello.txt")
	assert.NotContains(t, frames["edit"], "shell.txt", "the next call waits for the hook")
	assert.Contains(t, frames["bash, write"], "one.txt")
}

// piBack is an extension with a command that goes back to before a prompt, as /tree does, and has the model say what it leaves.
const piBack = `export default function (pi) {
 pi.registerCommand("back", {handler: async (prompt, ctx) => {
  const to = ctx.sessionManager.getEntries().find((e) => e.type === "message" && e.message.role === "user" && JSON.stringify(e.message.content).includes(prompt))
  await ctx.navigateTree(to.id, {summarize: true})
 }})
}
`

// TestAgentPiGoesBackInItsTree runs the real pi, which goes back to before a prompt and on from there: a course from the new branch has a summary of the other
// branch and none of its lines, and a course from the other branch has its own.
func TestAgentPiGoesBackInItsTree(t *testing.T) {
	eachPi(t, checkPiGoesBackInItsTree)
}

func checkPiGoesBackInItsTree(t *testing.T, h *agentHome) {
	t.Helper()
	h.put(".pi/agent/extensions/back.ts", piBack)
	h.smithers("session", "enable", "pi")
	pi(h, h.Dir, "--provider", "fake", "--model", "fake-1", "QUICK one", "TASK-ONE", "/back TASK-ONE", "QUICK again")
	run := strings.Fields(h.smithers("runs"))[0]
	asked := h.asked()
	own := asked[len(asked)-1].Items
	assert.Equal(t, 5, own, "the system, the prompt, the answer, the summary, the new prompt")
	for _, text := range piSessions(h) { // pi 0.73 can write the last answer of the other branch behind the summary
		if regexp.MustCompile(`"branch_summary".*\n.*"text":"Done\."`).MatchString(text) {
			own++
		}
	}
	for _, c := range []struct {
		from  string
		said  []string
		items int
	}{
		{"@turn:3", []string{"QUICK", "WHAT-IF"}, own},
		{"", []string{"QUICK", "QUICK", "WHAT-IF"}, own + 2},
		{"@turn:2", []string{"QUICK", "WHAT-IF"}, 4},
	} {
		course := h.whatIf(run+c.from, "WHAT-IF please")
		asked := len(h.asked())
		pi(h, course.Dir, course.Command[1:]...)
		assert.Equal(t, c.said, h.asked()[asked].Said, c.from)
		assert.Equal(t, c.items, h.asked()[asked].Items, c.from)
	}
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.smithers("verify")
}
