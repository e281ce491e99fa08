package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

// newCopilotSession returns a session of GitHub Copilot CLI, whose file is where the hooks look for it.
func newCopilotSession(t *testing.T) *session {
	t.Helper()
	s := newSession(t, repotest.New(t, repotest.Commit))
	home := t.TempDir()
	s.Env = append(s.Env, "COPILOT_HOME="+home)
	s.transcript = filepath.Join(home, "session-state", "p", "events.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(s.transcript), 0o700))
	s.events("session.start", `"sessionId":"p"`)
	return s
}

// events writes events to the agent's file: pairs of a type and members.
func (s *session) events(pairs ...string) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		s.say(fmt.Sprintf(`{"type":%q,"data":{%s},"id":"%d","timestamp":%q,"parentId":null}`+"\n", pairs[i], pairs[i+1], time.Now().UnixNano(), now))
	}
}

// copilot calls a hook with an event of GitHub Copilot CLI.
func (s *session) copilot(name, members string) {
	s.t.Helper()
	input := fmt.Sprintf(`{"sessionId":"p"%s}`, members)
	agent.Hook{Agent: dialect.Copilot, Event: name, Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(s.t.Context())
	assert.Empty(s.t, s.last().Error)
}

// The call is in the file before its hook, and its result behind it. The same command runs twice, and leaves other files each time.
func TestACallOfCopilotEndsBehindItsHook(t *testing.T) {
	t.Parallel()
	s := newCopilotSession(t)
	s.copilot("userPromptSubmitted", `,"prompt":"count"`)
	s.events("user.message", `"content":"count"`)
	for i, id := range []string{"c1", "c2"} {
		s.events("assistant.message", `"content":"","toolRequests":[{"toolCallId":"`+id+`","name":"bash","arguments":{"command":"echo x"}}]`,
			"session.usage_record", `"usage":{"model":"m","inputTokens":10,"outputTokens":2}`)
		s.Write("made", strings.Repeat("x", i+1))
		s.copilot("postToolUse", `,"toolName":"bash","toolArgs":{"command":"echo x"}`)
		s.events("tool.execution_complete", `"toolCallId":"`+id+`","success":true,"result":{"content":"ok"}`)
	}
	s.events("assistant.message", `"content":"Counted."`)
	s.copilot("agentStop", `,"transcriptPath":"`+s.transcript+`"`)
	assert.Equal(t, "turn 1 finished\nbash\nbash\nturn 1: count", s.Git("log", "--format=%s", "refs/smithers/_tip/copilot-p"))
	assert.Contains(t, s.Git("show", "refs/smithers/_tip/copilot-p:outputs-prompts"), `"answer":"Counted."`)
	course := s.whatIf("copilot-p:1")
	assert.Equal(t, 5, course.Kept, "up to the result of the first call")
	assert.Equal(t, "x", read(t, course.Dir+"/made"))
}

// A person goes back to before the second prompt: its events are gone from the file. What is left counts once.
func TestARewindOfCopilot(t *testing.T) {
	t.Parallel()
	s := newCopilotSession(t)
	turn := func(prompt string) (before []byte) {
		before, err := os.ReadFile(s.transcript)
		require.NoError(t, err)
		s.copilot("userPromptSubmitted", `,"prompt":"`+prompt+`"`)
		s.events("user.message", `"content":"`+prompt+`"`, "session.usage_record", `"usage":{"model":"m","inputTokens":10,"outputTokens":2}`,
			"assistant.message", `"content":"Done."`)
		s.copilot("agentStop", `,"transcriptPath":"`+s.transcript+`"`)
		return before
	}
	turn("one")
	require.NoError(t, os.WriteFile(s.transcript, turn("two and much more"), 0o600))
	turn("three")
	usage := s.Git("show", "refs/smithers/_tip/copilot-p:outputs-usage")
	assert.Equal(t, 2*3, strings.Count(usage, `{"inputTokens":10,"outputTokens":2,`), "each turn its own answer alone, also by model: %s", usage)
	said := s.Git("show", "refs/smithers/_tip/copilot-p:outputs-prompts")
	assert.Contains(t, said, "two and much more", "the turn stays in the session")
	course := read(t, s.whatIf("copilot-p").File)
	assert.Contains(t, course, "three")
	assert.NotContains(t, course, "two and much more")
}

// A fork has copies of the events, with their ids and times, behind its own beginning.
func TestAForkOfCopilot(t *testing.T) {
	t.Parallel()
	s := newCopilotSession(t)
	s.copilot("userPromptSubmitted", `,"prompt":"one"`)
	s.events("user.message", `"content":"one"`, "session.usage_record", `"usage":{"model":"m","inputTokens":10,"outputTokens":2}`, "assistant.message", `"content":"Done."`)
	s.copilot("agentStop", `,"transcriptPath":"`+s.transcript+`"`)
	_, copies, _ := strings.Cut(read(t, s.transcript), "\n")
	s.copilot("userPromptSubmitted", `,"prompt":"two"`)

	s.transcript = strings.Replace(s.transcript, "/p/", "/f/", 1)
	require.NoError(t, os.MkdirAll(filepath.Dir(s.transcript), 0o700))
	s.events("session.start", `"sessionId":"f"`)
	s.say(copies)
	s.events("session.info", `"infoType":"fork","message":"Forked from \"one\" (p) as \"one (fork)\" (f)."`)
	input := `{"sessionId":"f","prompt":"three"}`
	agent.Hook{Agent: dialect.Copilot, Event: "userPromptSubmitted", Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
	assert.Empty(t, s.last().Error+s.last().Warning)
	row, entry := s.forkedRun("copilot-f")
	require.NotNil(t, row.Parent)
	assert.Equal(t, "copilot-p", row.Parent.RunID)
	assert.EqualValues(t, 1, row.Parent.Frame, "the end of the first turn")
	state, err := entry.State()
	require.NoError(t, err)
	_, counted, err := state.Outputs("usage").Get(snapshot.Key("turn", 1))
	require.NoError(t, err)
	assert.False(t, counted, "the tokens are of the other session")
}

// A subagent of a subagent names only that one: its calls are no session of their own.
func TestASubagentOfASubagentOfCopilot(t *testing.T) {
	t.Parallel()
	s := newCopilotSession(t)
	s.copilot("userPromptSubmitted", `,"prompt":"count"`)
	input := `{"sessionId":"b","agentId":"b","parentAgentId":"a","toolName":"bash","toolArgs":{}}`
	agent.Hook{Agent: dialect.Copilot, Event: "postToolUse", Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
	assert.Equal(t, "refs/smithers/_tip/copilot-p", s.Git("for-each-ref", "--format=%(refname)", "refs/smithers/_tip"))
}
