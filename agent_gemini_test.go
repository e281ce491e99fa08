//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/modeltest"
)

// geminiScript is what the fake model says to Gemini CLI. $REPO is the folder of the repository. The first command of the shell
// comes once more at the end.
const geminiScript = `[
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "write_file", "input": {"file_path": "$REPO/hello.txt", "content": "hello\n"}}]},
  {"calls": [{"name": "read_file", "input": {"file_path": "$REPO/notes.txt"}}]},
  {"calls": [{"name": "replace", "input": {"file_path": "$REPO/notes.txt", "old_string": "beta", "new_string": "BETA", "instruction": "upper case"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo x >> shell.txt"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "ls"}}, {"name": "run_shell_command", "input": {"command": "echo two > second.txt"}}]},
  {"calls": [{"name": "replace", "input": {"file_path": "$REPO/notes.txt", "old_string": "omega", "new_string": "OMEGA", "instruction": "fail"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "false"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo x >> shell.txt"}}]},
  {"text": "Done."}]},
 {"match": "WHAT-IF", "steps": [
  {"calls": [{"name": "write_file", "input": {"file_path": "other.txt", "content": "other\n"}}]},
  {"calls": [{"name": "run_shell_command", "input": {"command": "echo made > made.txt"}}]},
  {"text": "Done otherwise."}]}
]`

// gemini runs Gemini CLI. In a terminal, the command of a course goes on with the user.
func gemini(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	env := []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=http://" + modelAddress, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_CLI_NO_RELAUNCH=true"}
	command := []string{"gemini", "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "--output-format", "json"}
	for _, arg := range args {
		command = append(command, strings.Replace(arg, "--prompt-interactive=", "--prompt=", 1))
	}
	h.run(dir, env, command...)
}

// newGeminiHome returns a home for Gemini CLI.
func newGeminiHome(t *testing.T) *agentHome {
	t.Helper()
	h := newAgentHome(t, "gemini", geminiScript)
	h.put(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"enableAutoUpdate":false},
"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false}}`)
	h.Write("notes.txt", "alpha\nbeta\n")
	return h
}

// chats returns the files with Gemini CLI's conversations.
func (h *agentHome) chats() map[string]string {
	h.t.Helper()
	paths, err := filepath.Glob(filepath.Join(h.home, ".gemini", "tmp", "*", "chats", "*.jsonl"))
	require.NoError(h.t, err)
	files := make(map[string]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(h.t, err)
		files[path] = string(text)
	}
	return files
}

// TestAgentGeminiTakesAnotherCourse runs the real Gemini CLI: its steps are frames with its files, and it goes on from one of them in another
// worktree, with another prompt.
func TestAgentGeminiTakesAnotherCourse(t *testing.T) {
	h := newGeminiHome(t)
	settings := "{ \"ui\": {\"hideTips\": true} }"
	h.Write(".gemini/settings.json", settings)
	h.smithers("session", "enable", "gemini")
	gemini(h, h.Dir, "--prompt=TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.checkFrames(run)

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "write_file", "replace", "run_shell_command", "turn 1 finished", "session ended"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "read_file")
	assert.NotContains(t, timeline, "without a hook", "a hook comes before the line of its call")
	for frame, made := range []string{
		"", "hello.txt", "hello.txt", "hello.txt shell.txt", frameOfPair, "hello.txt second.txt shell.txt", "hello.txt second.txt shell.txt",
	} {
		if made != frameOfPair {
			assert.Equal(t, made, h.madeIn(run, frame), frame)
		}
	}
	calls := h.Git("show", "refs/smithers/_tip/"+run+":journal/tool-calls")
	assert.Equal(t, 9, strings.Count(calls, `"outputAt"`), calls)
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)
	second := regexp.MustCompile(`run_shell_command__fc_[0-9]+_0005_1`).FindString(calls)

	before := h.chats()
	require.Len(t, before, 1)
	hash := sha256.Sum256([]byte(h.Dir))
	for _, text := range before {
		assert.Contains(t, text, `"projectHash":"`+hex.EncodeToString(hash[:])+`"`)
	}
	both := []string{"TASK-ONE", "WHAT-IF"}
	// Between the result of a call and a prompt, Gemini CLI says for the model that it was interrupted: one item more.
	h.goesOn(run+":turn:1", both[1:], 1, "")
	course := h.goesOn(run+":3", both, 9+1+1, "hello.txt shell.txt") // the same call comes again later
	h.goesOn(run+":"+second, both, 11+1+1, "hello.txt second.txt shell.txt")
	h.goesOn(run+":9", both, 18+1, "hello.txt second.txt shell.txt")
	assert.Contains(t, h.smithers("branches", run), course.Run)

	// In a course of a course, Gemini CLI says so only once.
	again := h.goesOn(course.Run+":4", append(both, "WHAT-IF"), 9+1+4+1+1, "hello.txt shell.txt")
	for path, text := range h.chats() {
		if strings.Contains(path, again.Session[:8]) {
			assert.NotContains(t, text, course.Dir+"/")
			assert.NotContains(t, text, h.Dir+"/")
		}
		if was, ok := before[path]; ok {
			assert.Equal(t, was, text)
		}
	}
	h.smithers("verify")

	h.checkWhole("gemini", ".gemini/tmp/*/chats/*.jsonl", func(prompt string) { gemini(h, h.Dir, "-p", prompt) })
	h.smithers("session", "disable", "gemini")
	now, err := os.ReadFile(filepath.Join(h.Dir, ".gemini", "settings.json"))
	require.NoError(t, err)
	assert.Equal(t, settings, string(now))
}

// frameOfPair stands for the files of the frame of the first of two parallel calls: the other call may have ended, or not.
const frameOfPair = "?"

// geminiMakes lists the files that Gemini CLI makes in its first turn.
var geminiMakes = []string{"hello.txt", "second.txt", "shell.txt"}

// madeIn returns those of geminiMakes that a frame of a run has.
func (h *agentHome) madeIn(run string, frame int) string {
	h.t.Helper()
	names := strings.Fields(h.Git("ls-tree", "--name-only", fmt.Sprintf("refs/smithers/%s/%d:worktree", run, frame)))
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(geminiMakes, name) }), " ")
}

// goesOn takes another course from a frame, and checks what the model hears, and which files are there. items are those that the model hears
// first.
func (h *agentHome) goesOn(from string, said []string, items int, made string) course {
	h.t.Helper()
	course := h.whatIf(from, "WHAT-IF please")
	asked := len(h.asked())
	gemini(h, course.Dir, course.Command[1:]...)
	requests := h.asked()[asked:]
	require.Len(h.t, requests, 3, from)
	for i, request := range requests {
		assert.Equal(h.t, modeltest.Heard{Said: said, Items: items + 2*i, Rounds: i}, request, from)
	}
	var found []string
	for _, name := range geminiMakes {
		if _, err := os.Stat(filepath.Join(course.Dir, name)); err == nil {
			found = append(found, name)
		}
	}
	assert.Equal(h.t, made, strings.Join(found, " "), from)
	for _, name := range []string{"other.txt", "made.txt"} {
		assert.FileExists(h.t, filepath.Join(course.Dir, name), from)
		assert.NoFileExists(h.t, filepath.Join(h.Dir, name), from)
	}
	assert.Regexp(h.t, `turn [123]: WHAT-IF please`, h.smithers("timeline", course.Run), from)
	return course
}
