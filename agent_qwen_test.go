//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/modeltest"
)

// qwenScript is what the fake model says to Qwen Code. $REPO is the folder of the repository. Qwen Code compacts only a conversation that the model
// calls long.
const qwenScript = `[
 {"match": "(without tools)", "steps": [{"text": "The summary.", "tokens": 90000}]},
 {"match": "TASK-SUB", "steps": [{"calls": [{"name": "run_shell_command", "input": {"command": "wc -l notes.txt", "is_background": false}}]}, {"text": "Counted."}]},
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "write_file", "input": {"file_path": "$REPO/hello.txt", "content": "hello\n"}}]},
  {"calls": [{"name": "read_file", "input": {"file_path": "$REPO/notes.txt"}}]},
  {"calls": [{"name": "edit", "input": {"file_path": "$REPO/notes.txt", "old_string": "beta", "new_string": "BETA"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "ls", "is_background": false}}, {"name": "run_shell_command", "input": {"command": "echo shell > shell.txt", "is_background": false}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "false", "is_background": false}}]},
  {"calls": [{"name": "todo_write", "input": {"todos": [{"id": "1", "content": "greet", "status": "completed"}]}}]},
  {"calls": [{"name": "agent", "input": {"description": "count", "prompt": "TASK-SUB count the lines", "subagent_type": "general-purpose"}}]},
  {"text": "Done.", "tokens": 90000}]},
 {"match": "WHAT-IF", "steps": [{"calls": [{"name": "run_shell_command", "input": {"command": "echo other > other.txt", "is_background": false}}]}, {"text": "Done otherwise."}]}
]`

// qwen runs Qwen Code. In a terminal, the command of a course goes on with the user.
func qwen(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	env := []string{"OPENAI_BASE_URL=http://" + modelAddress + "/v1", "OPENAI_API_KEY=dummy", "OPENAI_MODEL=fake-1"}
	command := []string{"qwen", "--auth-type", "openai", "--approval-mode", "yolo"}
	for _, arg := range args {
		command = append(command, strings.Replace(arg, "--prompt-interactive=", "--prompt=", 1))
	}
	h.run(dir, env, command...)
}

// goOn runs Qwen Code with the command of a course, and returns what the model heard.
func (h *agentHome) goOn(c course) []modeltest.Heard {
	h.t.Helper()
	asked := len(h.asked())
	qwen(h, c.Dir, c.Command[1:]...)
	return h.asked()[asked:]
}

// TestAgentQwenTakesAnotherCourse runs the real Qwen Code: its steps are frames with its files, it goes on from one of them in another worktree with
// another prompt, and a session that it forks or compacts is known as such.
func TestAgentQwenTakesAnotherCourse(t *testing.T) {
	h := newAgentHome(t, "qwen", qwenScript)
	h.put(".qwen/settings.json", `{"tools": {"todoWrite": {"enabled": true}}}`)
	h.Write("notes.txt", "alpha\nbeta\n")
	settings := "{ \"ui\": {\"hideTips\": true}, \"$version\": 4 }" // Qwen Code itself rewrites those of an older version
	h.Write(".qwen/settings.json", settings)
	h.smithers("session", "enable", "qwen")
	qwen(h, h.Dir, "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	session := strings.TrimPrefix(run, "qwen-")
	assert.NotContains(t, h.smithers("session", "status"), "errors")

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "write_file", "edit", "run_shell_command", "agent", "turn 1 finished"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "read_file")
	assert.NotContains(t, timeline, "turn 2", "the results of tools are no prompt")
	h.checkFrames(run)
	frames := h.trees(run)
	assert.NotContains(t, tree(frames, "turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, tree(frames, "write_file"), "hello.txt")
	assert.NotContains(t, tree(frames, "edit"), "shell.txt")
	assert.Contains(t, tree(frames, "turn 1 finished"), "shell.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+run+":journal/tool-calls")
	assert.Equal(t, 9, strings.Count(calls, `"inputAt"`), calls) // one of the subagent
	assert.Equal(t, 9, strings.Count(calls, `"outputAt"`), "the ids in hooks are those in the file: %s", calls)
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)
	shown := h.smithers("show", run, "--json")
	for _, row := range []string{`"answer":"Done.","prompt":"TASK-ONE"`, `"table":"todos"`, `"inputTokens":`, "fake-1"} {
		assert.Contains(t, shown, row)
	}

	before := h.files(".qwen/projects/*/chats/*.jsonl")
	require.Len(t, before, 1)
	both := []string{"TASK-ONE", "WHAT-IF"}
	// The system, the prompt, three calls and their results; then the new prompt.
	c := h.whatIf(run+":2", "WHAT-IF please")
	assert.Equal(t, []modeltest.Heard{{Said: both, Items: 9}, {Said: both, Items: 11, Rounds: 1}}, h.goOn(c))
	for name, there := range map[string]bool{"hello.txt": true, "other.txt": true, "shell.txt": false} {
		_, err := os.Stat(filepath.Join(c.Dir, name))
		assert.Equal(t, there, err == nil, name)
	}
	assert.NoFileExists(t, filepath.Join(h.Dir, "other.txt"))
	assert.Contains(t, h.smithers("timeline", c.Run), "turn 2: WHAT-IF please")
	// Before the first prompt, nothing was said.
	c = h.whatIf(run+":turn:1", "WHAT-IF at once")
	assert.Equal(t, []string{"WHAT-IF"}, h.goOn(c)[0].Said)
	assert.Contains(t, h.smithers("timeline", c.Run), "turn 1: WHAT-IF at once")
	for path, text := range before {
		assert.Equal(t, text, read(t, path))
	}

	qwen(h, h.Dir, "--resume", session, "--fork-session", "-p", "WHAT-IF forked")
	fork := strings.Fields(h.smithers("runs"))[0]
	assert.Contains(t, h.smithers("branches", run), fork)
	assert.Contains(t, h.smithers("timeline", fork), "turn 1: WHAT-IF forked")
	assert.Equal(t, 1, strings.Count(h.Git("show", "refs/smithers/_tip/"+fork+":journal/tool-calls"), `"outputAt"`), "its own call alone")

	qwen(h, h.Dir, "--resume", session, "-p", "/compress")
	qwen(h, h.Dir, "--resume", session, "-p", "WHAT-IF later")
	timeline = h.smithers("timeline", run)
	assert.Contains(t, timeline, "before the conversation is compacted")
	assert.Contains(t, timeline, "turn 2: WHAT-IF later")
	heard := h.asked()
	live := heard[len(heard)-2:]
	require.Equal(t, []string{"WHAT-IF"}, live[0].Said, "the model hears the summary alone")
	assert.Equal(t, live, h.goOn(h.whatIf(run+":turn:2", "WHAT-IF instead")))
	h.smithers("verify")

	h.checkWhole("qwen", ".qwen/projects/*/chats/*.jsonl", func(prompt string) { qwen(h, h.Dir, prompt) })
	h.smithers("session", "disable", "qwen")
	assert.Equal(t, settings, read(t, filepath.Join(h.Dir, ".qwen", "settings.json")))
	h.importsQwen()
}

// importsQwen checks that a session without hooks can be imported.
func (h *agentHome) importsQwen() {
	h.t.Helper()
	before := h.files(".qwen/projects/*/chats/*.jsonl")
	qwen(h, h.Dir, "WHAT-IF unheard")
	for path := range h.files(".qwen/projects/*/chats/*.jsonl") {
		if _, old := before[path]; old {
			continue
		}
		run := strings.TrimSpace(h.smithers("session", "import", "qwen", path))
		assert.Equal(h.t, "qwen-"+strings.TrimSuffix(filepath.Base(path), ".jsonl"), run)
		assert.Contains(h.t, h.smithers("timeline", run), "turn 1: WHAT-IF unheard")
		assert.Contains(h.t, h.smithers("calls", run), "run_shell_command")
		return
	}
	require.Fail(h.t, "no new file")
}
