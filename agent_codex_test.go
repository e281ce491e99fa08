//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/modeltest"
)

// codexScript is what the fake model says to Codex CLI.
const codexScript = `[
 {"match": "TASK-ONE", "steps": [
  {"text": "I write.", "calls": [{"name": "exec_command", "input": {"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\nEOF"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "cat notes.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "sed -i s/beta/BETA/ notes.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "ls"}}, {"name": "exec_command", "input": {"cmd": "echo shell > shell.txt"}}]},
  {"calls": [{"name": "exec_command", "input": {"cmd": "false"}}]},
  {"calls": [{"name": "update_plan", "input": {"plan": [{"step": "write", "status": "completed"}, {"step": "check", "status": "in_progress"}]}}]},
  {"text": "Done."}]},
 {"match": "WHAT-IF", "steps": [{"calls": [{"name": "exec_command", "input": {"cmd": "echo other > other.txt"}}]}, {"text": "Done otherwise."}]}
]`

// codexConfig is the configuration with which Codex CLI knows the fake model alone.
const codexConfig = `model = "gpt-5-codex"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "http://` + modelAddress + `/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[otel]
exporter = "none"
`

// codex runs Codex CLI.
func codex(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	h.run(dir, []string{"FAKE_KEY=dummy"}, append([]string{"codex", "exec", "--dangerously-bypass-hook-trust", "--json"}, args...)...)
}

// TestAgentCodexTakesAnotherCourse runs the real Codex CLI: its steps are frames with its files, and it goes on from one of them in
// another worktree, with another prompt.
func TestAgentCodexTakesAnotherCourse(t *testing.T) {
	h := newAgentHome(t, "codex", codexScript)
	h.put(".codex/config.toml", codexConfig+"[projects.\""+h.Dir+"\"]\ntrust_level = \"trusted\"\n")
	h.Write("notes.txt", "alpha\nbeta\n")
	h.smithers("session", "enable", "codex")
	codex(h, h.Dir, "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.NotContains(t, h.smithers("session", "status"), "errors")

	frames := h.trees(run)
	assert.NotContains(t, tree(frames, "turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, tree(frames, "before Bash; without a hook of its own: exec_command"), "hello.txt", "apply_patch has no hook of its own")
	assert.Contains(t, tree(frames, "turn 1 finished"), "shell.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+run+":journal/tool-calls")
	assert.Equal(t, 7, strings.Count(calls, `"outputAt"`), calls)
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)
	assert.Contains(t, h.smithers("show", run, "--json"), `"table":"todos"`)
	assert.NotContains(t, h.Git("grep", "-h", "base_instructions", "refs/smithers/_tip/"+run, "--", "journal/transcript"), "You are")

	h.checkFrames(run)
	before := h.files(".codex/sessions/*/*/*/*.jsonl")
	require.Len(t, before, 1)
	whatIf := func(from string) []modeltest.Heard {
		c := h.whatIf(run+from, "WHAT-IF please")
		asked := len(h.asked())
		codex(h, c.Dir, append([]string{"resume"}, c.Command[2:]...)...)
		h.checkCourse(c, run)
		return h.asked()[asked:]
	}
	// The call, its result and what the model said with it; then the prompt.
	whole := h.asked()[1]
	assert.Equal(t, []modeltest.Heard{{Said: []string{"TASK-ONE", "WHAT-IF"}, Items: whole.Items + 1}, {Said: []string{"TASK-ONE", "WHAT-IF"}, Items: whole.Items + 3, Rounds: 1}}, whatIf(":1"))
	// Before the first prompt, nothing was said.
	assert.Equal(t, []string{"WHAT-IF"}, whatIf(":turn:1")[0].Said)
	for path, text := range before {
		assert.Equal(t, text, read(t, path))
	}
	h.checkWhole("codex", ".codex/sessions/*/*/*/*.jsonl", func(prompt string) { codex(h, h.Dir, prompt) })
	h.checkDisable("codex")
	runs := strings.Fields(h.smithers("runs"))

	// Hooks of the user record the repository, also if it has hooks of its own.
	h.smithers("session", "enable", "codex", "--user")
	for _, own := range []string{"enable", "disable"} {
		h.smithers("session", own, "codex")
		codex(h, h.Dir, "TASK-ONE")
		run := strings.Fields(h.smithers("runs"))[0]
		assert.NotContains(t, runs, run)
		runs = append(runs, run)
		said := h.Git("log", "--format=%s", "refs/smithers/_tip/"+run)
		assert.Equal(t, 1, strings.Count(said, ": TASK-ONE"), said)
		assert.Contains(t, said, "turn 1 finished")
	}
	h.smithers("session", "status", "--check")
}
