//go:build linux

package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// harmlessWords are what a person types after a command of ours. A shell, or an agent that runs commands in prompts, would make ran.txt of them.
const harmlessWords = "it's \"quoted\" $(echo ran >ran.txt) `echo ran >ran.txt` and !`echo ran >ran.txt`\n; echo ran >ran.txt; second line"

// checkpointScript returns a script in which the fake model does what the text of /checkpoint says, if the words have come to it as they were typed, and what
// the text of /rewind-files says for turn 1. tool is the agent's shell, and argument the member of its input with the command.
func checkpointScript(t *testing.T, tool, argument, words string) string {
	t.Helper()
	call := func(command string) string {
		input, err := json.Marshal(map[string]string{argument: command})
		require.NoError(t, err)
		return `{"calls": [{"name": "` + tool + `", "input": ` + string(input) + `}]}`
	}
	match, err := json.Marshal(words)
	require.NoError(t, err)
	return `[{"match": ` + string(match) + `, "steps": [` +
		call("git smithers session checkpoint -m - <<'END-OF-LABEL'\n"+harmlessWords+"\nEND-OF-LABEL") + `,` + call("echo later > later.txt") + `, {"text": "Kept."}]},
 {"match": "git smithers restore @session@turn:3", "steps": [` + call("git smithers restore @session@turn:1") + `, {"text": "Restored."}]}]`
}

// checkWords checks that the checkpoint has the words, and that no shell has run them.
func (h *agentHome) checkWords(words string) {
	h.t.Helper()
	label, err := json.Marshal(words)
	require.NoError(h.t, err)
	assert.Contains(h.t, h.smithers("sql", "SELECT * FROM checkpoints"), `"label":`+string(label))
	assert.NoFileExists(h.t, filepath.Join(h.Dir, "ran.txt"))
}

// checkRewound checks that /rewind-files has taken later.txt back, and that the frame that it made first has the file.
func (h *agentHome) checkRewound() {
	h.t.Helper()
	assert.NoFileExists(h.t, filepath.Join(h.Dir, "later.txt"))
	assert.FileExists(h.t, filepath.Join(h.Dir, "notes.txt"))
	timeline := h.smithers("timeline", "@session")
	assert.Contains(h.t, timeline, "working copy restored to")
	h.smithers("undo", "@session")
	assert.FileExists(h.t, filepath.Join(h.Dir, "later.txt"))
	assert.NotContains(h.t, h.smithers("session", "status"), "errors")
}

// TestAgentClaudeHasCommands calls /checkpoint and /rewind-files in the real Claude Code. Claude Code puts a backslash before a ! that begins a word.
func TestAgentClaudeHasCommands(t *testing.T) {
	before, _, _ := strings.Cut(harmlessWords, "!`")
	h := newAgentHome(t, "claude", checkpointScript(t, "Bash", "command", before))
	h.Write("notes.txt", "alpha\n")
	h.smithers("session", "enable", "claude", "--commands", "--skill", "--yes")
	claude(h, h.Dir, "/checkpoint "+harmlessWords)
	h.checkWords(harmlessWords)
	claude(h, h.Dir, "--continue", "/rewind-files 1")
	h.checkRewound()
	h.checkDisable("claude")
}

// TestAgentGeminiHasCommands calls /checkpoint and /rewind-files in the real Gemini CLI, which makes one space of each line end in what is typed.
func TestAgentGeminiHasCommands(t *testing.T) {
	h := newGeminiHome(t)
	h.say(checkpointScript(t, "run_shell_command", "command", strings.Join(strings.Fields(harmlessWords), " ")))
	h.smithers("session", "enable", "gemini", "--commands", "--skill", "--yes")
	gemini(h, h.Dir, "--prompt=/checkpoint "+harmlessWords)
	h.checkWords(harmlessWords)
	gemini(h, h.Dir, "--resume=latest", "--prompt=/rewind-files 1")
	h.checkRewound()
	h.checkDisable("gemini")
}

// TestAgentCodexHasCommands calls the skill $checkpoint in the real Codex CLI, whose commands of a person's own are skills.
func TestAgentCodexHasCommands(t *testing.T) {
	h := newAgentHome(t, "codex", checkpointScript(t, "exec_command", "cmd", "git smithers session checkpoint"))
	h.put(".codex/config.toml", codexConfig+"[projects.\""+h.Dir+"\"]\ntrust_level = \"trusted\"\n")
	h.put(".profile", "PATH='"+h.bin+"':$PATH\n") // its shell is a login shell
	h.smithers("session", "enable", "codex", "--commands", "--skill", "--yes")
	codex(h, h.Dir, "$checkpoint "+harmlessWords)
	h.checkWords(harmlessWords)
	h.checkDisable("codex")
}

// TestAgentOpencodeHasCommands calls /checkpoint and /rewind-files in the real opencode, where a plugin does the work. `opencode run` itself puts an argument with
// spaces in quotes.
func TestAgentOpencodeHasCommands(t *testing.T) {
	h := newOpencodeHome(t)
	h.say(`[{"match": "WORK", "steps": [{"calls": [{"name": "bash", "input": {"command": "echo later > later.txt", "description": "write"}}]}, {"text": "Done."}]}]`)
	h.smithers("session", "enable", "opencode", "--commands", "--skill", "--yes")
	opencode(h, h.Dir, "opencode", "run", "WORK")
	opencode(h, h.Dir, "opencode", "run", "--continue", "--command", "checkpoint", "--", harmlessWords)
	h.checkWords(`"` + strings.ReplaceAll(harmlessWords, `"`, `\"`) + `"`)
	opencode(h, h.Dir, "opencode", "run", "--continue", "--command", "rewind-files", "1")
	h.checkRewound()
}

// TestAgentKiloHasCommands calls /checkpoint and /rewind-files in the real Kilo, which loads the plugin of opencode.
func TestAgentKiloHasCommands(t *testing.T) {
	h := newKiloHome(t)
	h.say(`[{"match": "WORK", "steps": [{"calls": [{"name": "bash", "input": {"command": "echo later > later.txt", "description": "write"}}]}, {"text": "Done."}]}]`)
	h.smithers("session", "enable", "kilo", "--commands", "--skill", "--yes")
	kilo(h, h.Dir, "kilo", "run", "WORK")
	kilo(h, h.Dir, "kilo", "run", "--continue", "--command", "checkpoint", "--", harmlessWords)
	h.checkWords(harmlessWords)
	kilo(h, h.Dir, "kilo", "run", "--continue", "--command", "rewind-files", "1")
	h.checkRewound()
}

// TestAgentPiHasCommands calls /checkpoint and /rewind-files in the real pi, where an extension does the work.
func TestAgentPiHasCommands(t *testing.T) {
	h := newPiHome(t, "pi")
	h.say(`[{"match": "WORK", "steps": [{"calls": [{"name": "bash", "input": {"command": "echo later > later.txt"}}]}, {"text": "Done."}]}]`)
	h.smithers("session", "enable", "pi", "--commands", "--skill", "--yes")
	pi(h, h.Dir, "--provider", "fake", "--model", "fake-1", "WORK", "/checkpoint "+harmlessWords, "/rewind-files 1")
	h.checkWords(harmlessWords)
	h.checkRewound()
	h.checkDisable("pi")
}
