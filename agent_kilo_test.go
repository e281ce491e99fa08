//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kilo runs Kilo's command line, which believes PWD.
func kilo(h *agentHome, dir string, args ...string) {
	h.t.Helper()
	env := []string{
		"PWD=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(h.home, ".config"), "npm_config_fetch_retries=0", "KILO_DISABLE_AUTOUPDATE=1",
		"KILO_DISABLE_MODELS_FETCH=1", "KILO_DISABLE_SESSION_INGEST=1", "KILO_TELEMETRY_LEVEL=off", "KILO_DISABLE_DEFAULT_PLUGINS=1",
		"KILO_DISABLE_EXTERNAL_SKILLS=1", "KILO_DISABLE_LSP_DOWNLOAD=1", "KILO_EXPERIMENTAL_DISABLE_FILEWATCHER=1",
	}
	h.t.Log(h.run(dir, env, args...))
}

// newKiloHome returns a home for Kilo's command line, which has the tools of opencode.
func newKiloHome(t *testing.T) *agentHome {
	t.Helper()
	h := newAgentHome(t, "kilo", opencodeScript)
	h.put(".config/kilo/kilo.json", strings.Replace(opencodeConfig, "{", `{"snapshot": false, `, 1)) // a slow snapshot asks whether to go on
	h.Write("notes.txt", "alpha\nbeta\n")
	return h
}

// TestAgentKiloTakesAnotherCourse runs Kilo's real command line: its steps are frames with its files, and it goes on from one of them, and from before
// its first prompt, in other worktrees, with another prompt.
func TestAgentKiloTakesAnotherCourse(t *testing.T) {
	h := newKiloHome(t)
	before := h.Git("status", "--short", "--ignored")
	h.smithers("session", "enable", "kilo", "opencode") // Kilo does not hear the plugin of opencode
	assert.Equal(t, before, h.Git("status", "--short"))
	kilo(h, h.Dir, "kilo", "run", "--format", "json", "TASK-ONE")
	run := strings.Fields(h.smithers("runs"))[0]
	require.Regexp(t, `^kilo-ses_`, run)
	assert.Len(t, strings.Split(strings.TrimSpace(h.smithers("runs")), "\n"), 1)
	assert.NotContains(t, h.smithers("session", "status"), "errors")
	h.checkFrames(run)

	timeline := h.smithers("timeline", run)
	for _, step := range []string{"turn 1: TASK-ONE", "write", "edit", "bash", "todowrite", "task", "turn 1 finished", "session ended"} {
		assert.Contains(t, timeline, step)
	}
	assert.NotContains(t, timeline, "read")
	assert.NotContains(t, timeline, "without a hook")
	frames := h.trees(component(t, run))
	assert.NotContains(t, tree(frames, "turn 1: TASK-ONE"), "hello.txt")
	assert.Contains(t, tree(frames, "write"), "hello.txt")
	assert.NotContains(t, tree(frames, "edit"), "shell.txt")
	calls := h.Git("show", "refs/smithers/_tip/"+component(t, run)+":journal/tool-calls")
	assert.Equal(t, 8, strings.Count(calls, `"outputAt"`), calls)
	assert.Equal(t, 8, strings.Count(calls, `"status":"succeeded"`), "one of the subagent: %s", calls)
	assert.Equal(t, 1, strings.Count(calls, `"status":"failed"`), calls)
	assert.Contains(t, h.smithers("sql", "SELECT * FROM prompts"), "Done.")
	assert.Contains(t, h.smithers("sql", "SELECT * FROM usage"), `"inputTokens"`)

	pattern := ".local/share/kilo/git-smithers/*.jsonl"
	sessions := h.files(pattern)
	require.Len(t, sessions, 1)
	course := h.kiloGoesOn(run+":2", []string{"TASK-ONE", "WHAT-IF"}, 9)
	assert.FileExists(t, filepath.Join(course.Dir, "hello.txt"))
	assert.NoFileExists(t, filepath.Join(course.Dir, "shell.txt"), "the shell came later")
	first := h.kiloGoesOn(run+":turn:1", []string{"WHAT-IF"}, 2)
	assert.NoFileExists(t, filepath.Join(first.Dir, "hello.txt"))
	for path, text := range sessions {
		assert.Equal(t, text, h.files(pattern)[path])
	}
	assert.Contains(t, h.smithers("branches", run), course.Run)

	// A fork of Kilo's own has copies of the messages.
	kilo(h, h.Dir, "kilo", "run", "--session", strings.TrimPrefix(run, "kilo-"), "--fork", "WHAT-IF fork")
	fork := strings.Fields(h.smithers("runs", "--sessions"))[0]
	assert.NotEqual(t, run, fork)
	assert.Contains(t, h.smithers("timeline", fork), "WHAT-IF fork")
	assert.Contains(t, h.smithers("branches", run), fork)
	h.smithers("verify")
	h.checkWhole("kilo", pattern, func(prompt string) { kilo(h, h.Dir, "kilo", "run", "--format", "json", prompt) })

	h.smithers("session", "disable", "kilo")
	assert.NoFileExists(t, filepath.Join(h.Dir, ".kilo", "plugin", "git-smithers.js"))
}

// kiloGoesOn takes another course from a frame, and checks what the model hears. items are those that it hears first.
func (h *agentHome) kiloGoesOn(from string, said []string, items int) course {
	h.t.Helper()
	course := h.whatIf(from, "WHAT-IF please")
	asked := len(h.asked())
	kilo(h, course.Dir, course.Command...)
	requests := h.asked()[asked:]
	require.Len(h.t, requests, 2, from)
	for i, request := range requests {
		assert.Equal(h.t, said, request.Said, from)
		assert.Equal(h.t, items+2*i, request.Items, from)
	}
	assert.FileExists(h.t, filepath.Join(course.Dir, "other.txt"), from)
	assert.NoFileExists(h.t, filepath.Join(h.Dir, "other.txt"), from)
	assert.Regexp(h.t, `turn [12]: WHAT-IF please`, h.smithers("timeline", course.Run), from)
	return course
}

// TestAgentKiloHearsTheHooksOfTheUser runs Kilo's real command line with hooks for all repositories.
func TestAgentKiloHearsTheHooksOfTheUser(t *testing.T) {
	h := newKiloHome(t)
	h.Env = append(h.Env, "XDG_CONFIG_HOME="+filepath.Join(h.home, ".config"))
	before := h.Git("status", "--short", "--ignored")
	h.smithers("session", "enable", "kilo")
	h.smithers("session", "disable", "kilo")
	assert.NoDirExists(t, filepath.Join(h.Dir, ".kilo"))
	assert.Equal(t, before, h.Git("status", "--short", "--ignored"))
	h.smithers("session", "enable", "kilo", "--user")
	kilo(h, h.Dir, "kilo", "run", "WHAT-IF")
	run := strings.Fields(h.smithers("runs"))[0]
	assert.Contains(t, h.smithers("timeline", run), "turn 1 finished")
	h.smithers("session", "disable", "kilo", "--user")
	assert.NoDirExists(t, filepath.Join(h.home, ".config", "kilo", "plugin"))
}
