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

// copilotScript is what the fake model says to GitHub Copilot CLI. $REPO is the folder of the repository. The first command of the shell comes once
// more at the end.
const copilotScript = `[
 {"match": "TASK-SUB", "steps": [{"calls": [{"name": "bash", "input": {"command": "wc -l notes.txt > count.txt", "description": "count"}}]}, {"text": "Counted."}]},
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "create", "input": {"path": "$REPO/hello.txt", "file_text": "hello\n"}}]},
  {"calls": [{"name": "view", "input": {"path": "$REPO/notes.txt"}}]},
  {"calls": [{"name": "edit", "input": {"path": "$REPO/notes.txt", "old_str": "beta", "new_str": "BETA"}}]},
  {"calls": [{"name": "bash", "input": {"command": "echo x >> shell.txt", "description": "write"}}]},
  {"calls": [{"name": "bash", "input": {"command": "sleep 1; echo one > one.txt", "description": "one"}}, {"name": "create", "input": {"path": "$REPO/two.txt", "file_text": "two\n"}}]},
  {"calls": [{"name": "edit", "input": {"path": "$REPO/notes.txt", "old_str": "omega", "new_str": "OMEGA"}}]},
  {"calls": [{"name": "bash", "input": {"command": "false", "description": "fail"}}]},
  {"calls": [{"name": "task", "input": {"description": "count", "prompt": "TASK-SUB count the lines", "agent_type": "task", "name": "counter", "mode": "sync"}}]},
  {"calls": [{"name": "bash", "input": {"command": "echo x >> shell.txt", "description": "write"}}]},
  {"text": "Done."}]},
 {"match": "WHAT-IF", "steps": [{"calls": [{"name": "bash", "input": {"command": "echo other > other.txt", "description": "write"}}]}, {"text": "Done otherwise."}]}
]`

// copilot runs GitHub Copilot CLI, which trusts all folders, and unpacks its program once. In a terminal, the command of a course goes on with the user.
func copilot(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	program, err := filepath.Abs(filepath.Join(".tools", "copilot"))
	require.NoError(h.t, err)
	env := []string{
		"COPILOT_PROVIDER_BASE_URL=http://" + modelAddress + "/v1", "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_PROVIDER_TYPE=openai",
		"COPILOT_MODEL=fake-1", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false", "COPILOT_ALLOW_ALL=true", "COPILOT_PKG_CACHE_HOME=" + program,
	}
	command := []string{"copilot"}
	for _, arg := range args {
		command = append(command, strings.Replace(arg, "--interactive=", "--prompt=", 1))
	}
	h.t.Log(h.run(dir, env, command...))
}

// TestAgentCopilotTakesAnotherCourse runs the real GitHub Copilot CLI: its steps are frames with its files, and it goes on from one of them, and from
// before its first prompt, in other worktrees, with another prompt.
func TestAgentCopilotTakesAnotherCourse(t *testing.T) {
	h := newAgentHome(t, "copilot", copilotScript)
	h.Write("notes.txt", "alpha\nbeta\n")
	h.Write(".github/hooks/own.json", "{}\n")
	h.smithers("session", "enable", "copilot")
	assert.NotContains(t, h.Git("status", "--short", "-uall"), "git-smithers.json")
	copilot(h, h.Dir, "--prompt=TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.checkFrames(run)

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "create", "edit", "bash", "task", "turn 1 finished", "session ended"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "view")
	assert.NotContains(t, timeline, "without a hook")
	frames := h.trees(run)
	assert.NotContains(t, tree(frames, "turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, frames["task"], "count.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+run+":journal/tool-calls")
	assert.Equal(t, 11, strings.Count(calls, `"outputAt"`), "with that of the subagent: %s", calls)
	assert.Equal(t, 2, strings.Count(calls, `"status":"failed"`), calls)
	assert.Contains(t, h.smithers("sql", "SELECT * FROM prompts"), "Done.")
	assert.Contains(t, h.smithers("sql", "SELECT * FROM usage"), "120", "12 answers, two of the subagent")
	assert.Contains(t, h.smithers("calls", run, "--json"), "Created file")

	sessions := h.files(".copilot/session-state/*/events.jsonl")
	require.Len(t, sessions, 1)
	both := []string{"TASK-ONE", "WHAT-IF"}
	course := h.copilotGoesOn(run+":3", both, 11, "hello.txt shell.txt") // the same call comes again later
	h.copilotGoesOn(run+":4", both, 11, "hello.txt shell.txt two.txt")   // the other call of the pair has not ended
	h.copilotGoesOn(run+":turn:1", both[1:], 2, "")
	h.copilotGoesOn(course.Run, append(both, "WHAT-IF"), 15, "hello.txt shell.txt")
	h.copilotGoesOn(run, both, 23, "hello.txt one.txt shell.txt two.txt")
	for path, text := range sessions {
		assert.Equal(t, text, h.files(".copilot/session-state/*/events.jsonl")[path])
	}
	assert.Contains(t, h.smithers("branches", run), course.Run)
	h.smithers("verify")

	copilot(h, h.Dir, "--resume="+strings.TrimPrefix(run, "copilot-"), "--prompt=WHAT-IF too")
	assert.Contains(t, h.smithers("timeline", run), "turn 2: WHAT-IF too")
	assert.Contains(t, h.smithers("timeline", run), "turn 2 finished")
	h.checkWhole("copilot", ".copilot/session-state/*/events.jsonl", func(prompt string) { copilot(h, h.Dir, "--prompt="+prompt) })

	h.smithers("session", "disable", "copilot")
	hooks := filesIn(t, filepath.Join(h.Dir, ".github", "hooks"))
	assert.Len(t, hooks, 2, "the folder and the file of somebody else: %v", hooks)
}

// copilotMakes lists the files that GitHub Copilot CLI makes in its first turn.
var copilotMakes = []string{"hello.txt", "one.txt", "shell.txt", "two.txt"}

// copilotGoesOn takes another course from a frame, and checks what the model hears, and which files are there. items are those that the model hears
// first.
func (h *agentHome) copilotGoesOn(from string, said []string, items int, made string) course {
	h.t.Helper()
	course := h.whatIf(from, "WHAT-IF please")
	asked := len(h.asked())
	copilot(h, course.Dir, course.Command[1:]...)
	requests := h.asked()[asked:]
	require.Len(h.t, requests, 2, from)
	for i, request := range requests {
		assert.Equal(h.t, said, request.Said, from)
		assert.Equal(h.t, items+2*i, request.Items, from)
	}
	var found []string
	for _, name := range copilotMakes {
		if _, err := os.Stat(filepath.Join(course.Dir, name)); err == nil {
			found = append(found, name)
		}
	}
	assert.Equal(h.t, made, strings.Join(found, " "), from)
	assert.FileExists(h.t, filepath.Join(course.Dir, "other.txt"), from)
	assert.NoFileExists(h.t, filepath.Join(h.Dir, "other.txt"), from)
	assert.Regexp(h.t, `turn [123]: WHAT-IF please`, h.smithers("timeline", course.Run), from)
	return course
}
