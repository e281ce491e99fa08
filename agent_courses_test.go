//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAgentsWorkWithoutATerminal runs two real agents of each kind side by side, by what-if: each is heard, and works in its own folder. Claude Code has
// TestAgentClaudeIsJudged.
func TestAgentsWorkWithoutATerminal(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (h *agentHome, env, flags []string){
		"codex": func(t *testing.T) (*agentHome, []string, []string) {
			t.Helper()
			h := newAgentHome(t, "codex", codexScript)
			h.put(".codex/config.toml", codexConfig+"[projects.\""+h.Dir+"\"]\ntrust_level = \"trusted\"\n")
			h.smithers("session", "enable", "codex")
			codex(h, h.Dir, "TASK-ONE")
			return h, []string{"FAKE_KEY=dummy"}, []string{"--dangerously-bypass-hook-trust"}
		},
		"gemini": func(t *testing.T) (*agentHome, []string, []string) {
			t.Helper()
			h := newGeminiHome(t)
			h.smithers("session", "enable", "gemini")
			gemini(h, h.Dir, "--prompt=TASK-ONE")
			env := []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=http://" + modelAddress, "GEMINI_CLI_TRUST_WORKSPACE=true"}
			return h, env, []string{"--approval-mode", "yolo", "-m", "gemini-2.5-flash"}
		},
		"opencode": func(t *testing.T) (*agentHome, []string, []string) {
			t.Helper()
			h := newOpencodeHome(t)
			opencode(h, h.Dir, "opencode", "run", "TASK-ONE")
			return h, []string{
				"XDG_CONFIG_HOME=" + filepath.Join(h.home, ".config"), "npm_config_fetch_retries=0", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1",
			}, nil
		},
		"pi": func(t *testing.T) (*agentHome, []string, []string) {
			t.Helper()
			h := newPiHome(t, "pi")
			h.smithers("session", "enable", "pi")
			flags := []string{"--provider", "fake", "--model", "fake-1", "--approve"} // else pi runs no extension of the folder
			pi(h, h.Dir, append(flags, "TASK-ONE")...)
			return h, []string{"PI_OFFLINE=1"}, flags
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, env, flags := start(t)
			h.run(h.Dir, env, append([]string{"git-smithers", "session", "what-if", "@", "WHAT-IF please", "--times", "2", "--run", "--yes", "--group", "g", "--"}, flags...)...)
			shown := h.smithers("show", "g")
			assert.Equal(t, 2, strings.Count(shown, "\tfinished\t"), shown)
			for line := range strings.Lines(shown) {
				if words := strings.Split(line, "\t"); len(words) > 2 {
					assert.Contains(t, h.smithers("timeline", words[1]), "WHAT-IF please")
				}
			}
			made, err := filepath.Glob(filepath.Join(filepath.Dir(h.Dir), "*", "other.txt"))
			assert.NoError(t, err)
			assert.Len(t, made, 2)
			assert.NoFileExists(t, filepath.Join(h.Dir, "other.txt"))
		})
	}
}
