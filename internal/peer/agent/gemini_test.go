package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
)

// gemini calls a hook with an event of Gemini CLI.
func (s *session) gemini(name, members string) {
	path, err := json.Marshal(s.transcript)
	require.NoError(s.t, err)
	input := fmt.Sprintf(`{"session_id":"g","transcript_path":%s,"hook_event_name":%q%s}`, path, name, members)
	agent.Hook{Agent: dialect.Gemini, Event: name, Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(s.t.Context())
	assert.Empty(s.t, s.last().Error)
}

// geminiShell is the members of the event after a command of the shell.
func geminiShell(command string) string {
	return `,"tool_name":"run_shell_command","tool_input":{"command":"` + command + `"}`
}

// geminiRan is the line about commands of the shell. Each has an id and a command.
func geminiRan(message string, commands ...string) string {
	var calls []string
	for _, c := range commands {
		id, command, _ := strings.Cut(c, " ")
		calls = append(calls, fmt.Sprintf(
			`{"id":%q,"name":"run_shell_command","args":{"command":%q},"result":[],"status":"success","timestamp":"2026-11-22T12:44:00.619Z"}`, id, command))
	}
	return fmt.Sprintf(`{"id":%q,"timestamp":"2026-11-22T12:44:00.109Z","type":"gemini","content":"","tokens":{"input":10,"output":2},"toolCalls":[%s]}`+"\n",
		message, strings.Join(calls, ","))
}

// newGeminiSession returns a session of Gemini CLI in which the same command ran three times, and left other files each time. The
// agent writes a call after its hook.
func newGeminiSession(t *testing.T) *session {
	t.Helper()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.say(`{"sessionId":"g","projectHash":"x"}` + "\n")
	s.gemini("BeforeAgent", `,"prompt":"count"`)
	s.say(`{"id":"u","type":"user","content":[{"text":"count"}]}` + "\n")
	for i, id := range []string{"c1", "c2", "c3"} {
		s.Write("made", strings.Repeat("x", i+1))
		s.gemini("AfterTool", geminiShell("echo x"))
		s.say(geminiRan("m"+id, id+" echo x"), geminiRan("m"+id, id+" echo x")) // a line can come twice
	}
	return s
}

func TestCallsOfGeminiAreNotMissed(t *testing.T) {
	t.Parallel()
	s := newGeminiSession(t)
	s.say(geminiRan("m", "c4 echo y")) // whose hook did not come
	s.gemini("AfterAgent", `,"prompt_response":"done"`)
	assert.Equal(t, "turn 1 finished; without a hook of its own: run_shell_command\nrun_shell_command\nrun_shell_command\nrun_shell_command\nturn 1: count",
		s.Git("log", "--format=%s", "refs/smithers/_tip/gemini-g"))
	calls := s.Git("show", "refs/smithers/_tip/gemini-g:journal/tool-calls")
	assert.Equal(t, 4, strings.Count(calls, `"outputAt"`), calls)
	assert.Equal(t, 4, strings.Count(calls, `"startedAtMs":1795351440109`), calls)
	assert.Equal(t, 4, strings.Count(calls, `"finishedAtMs":1795351440619`), calls)
	assert.Contains(t, s.Git("show", "refs/smithers/_tip/gemini-g:outputs-usage"), `"inputTokens":40`)
}

func TestACallOfGeminiIsFoundByItsOwnID(t *testing.T) {
	t.Parallel()
	s := newGeminiSession(t)
	s.gemini("AfterAgent", `,"prompt_response":"done"`)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	for text, want := range map[string]string{
		"g:c1": "gemini-g:1", "gemini-g:c2": "gemini-g:2", "gemini-g:c3": "gemini-g:3", "g:c4": "gemini-g@c4", "g:turn:1": "gemini-g@turn:1", "g:2": "gemini-g:2", "g": "gemini-g",
	} {
		got, err := agent.Address(t.Context(), store, text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	course := s.whatIf("gemini-g:2")
	assert.Equal(t, 5, course.Kept, "up to the first line of the second call")
	assert.Equal(t, "xx", read(t, course.Dir+"/made"))
}
