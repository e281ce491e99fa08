package agent_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
)

// use is a line of Claude Code about a call, with other members in the line and in the call.
func use(line, call string) string {
	return fmt.Sprintf(`{"type":"assistant"%s,"message":{"content":[{"type":"tool_use"%s}]}}`, line, call)
}

// A line that no hook can store would stop the session for good, because each hook reads it again. Whatever a line says, the hook
// stores it, and verify finds the run sound.
func TestNoLineStopsASession(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	todos := func(list string) string { return `,"id":"c","name":"TodoWrite","input":{"todos":` + list + `}` }
	for name, lines := range map[string][]string{
		dialect.Claude: {
			"", "null", "7", `"text"`, "[]", "{", "\xff\xfe", "\x00", `{"type":null}`, `{"type":"user","message":null}`,
			use(`,"timestamp":"0001-01-01T00:00:00Z"`, `,"id":"t1","name":"Bash"`),
			use(`,"timestamp":"9999-12-31T23:59:59Z"`, `,"id":"t2","name":"Bash"`),
			use("", `,"id":"t3","name":"a\u0000b\ud800"`), use("", `,"id":"\u0000\n","name":"\n"`), use("", `,"id":" ","name":" "`),
			use("", `,"id":"`+long+`","name":"`+long+`"`), use("", ",\"id\":\"t4\xff\",\"name\":\"\xff\""),
			use("", todos("null")), use("", todos("7")), use("", todos(`"a"`)), use("", todos(`[{"a":1,"a":2}]`)), use("", todos("[1e999,-0,1.0]")),
			use("", todos(strings.Repeat("[", 5000)+strings.Repeat("]", 5000))), use("", todos(`["\ud800"]`)), use("", todos("[12345678901234567890]")),
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1"},{"type":"tool_result","tool_use_id":"t1"}]}}`,
			`{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":9223372036854775807},"content":[]}}`,
			`{"type":"assistant","message":{"id":"m2","usage":{"input_tokens":9223372036854775807},"content":[]}}`,
			`{"type":"assistant","message":{"id":"m3","usage":{"input_tokens":-7},"content":[]}}`,
			`{"type":"assistant","message":{"id":"` + long + `","content":[]}}`,
		},
		dialect.Codex: {
			"", "null", `{"type":"response_item","payload":null}`, `{"type":"session_meta","payload":{"base_instructions":""}}`,
			`{"timestamp":"0001-01-01T00:00:00Z","type":"response_item","payload":{"type":"function_call","name":"exec","call_id":"c"}}`,
			`{"type":"response_item","payload":{"type":"function_call","name":"update_plan","call_id":"d","arguments":"{\"plan\":[]}"}}`,
		},
		dialect.Gemini: {
			"", "null", `{"id":"m","type":"gemini","toolCalls":[{"id":"c","name":"write_todos","args":{"todos":null},"status":"success","timestamp":"0001-01-01T00:00:00Z"}]}`,
			`{"id":"n","inlineData":{"data":"!"},"content":{"inlineData":{"data":""}}}`, `{"$set":{"messages":[null]}}`,
		},
		dialect.Pi: {
			"", "null", `{"type":"message","timestamp":"0001-01-01T00:00:00Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"\u0000"}]}}`,
		},
		dialect.Generic: {"", "null", "\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, repotest.New(t, repotest.Commit))
			s.Env = append(s.Env, "GIT_SMITHERS_FSYNC=0")
			member, event, prompt, answer := "hook_event_name", "UserPromptSubmit", "UserPromptSubmit", "Stop"
			session, path := "session_id", "transcript_path"
			switch name {
			case dialect.Gemini:
				event, prompt, answer = "BeforeAgent", "BeforeAgent", "AfterAgent"
			case dialect.Pi, dialect.Generic:
				member, session, path, prompt, answer = "event", "session", "transcript", "prompt", "answer"
				event = prompt
			}
			hook := func(event string) agent.LogEntry {
				agent.Hook{
					Agent: name, Event: event, Dir: s.Dir, Env: s.Env, Now: time.Now,
					Input: strings.NewReader(fmt.Sprintf(`{%q:"s",%q:%q,%q:%q,"prompt":"one"}`, session, path, s.transcript, member, event)),
				}.Run(t.Context())
				return s.last()
			}
			require.True(t, hook(event).Frame)
			for _, line := range lines {
				s.say(line + "\n")
				for _, event := range []string{answer, prompt} {
					last := hook(event)
					if !assert.Empty(t, last.Error, "%.200q", line) {
						require.NoError(t, os.Truncate(s.transcript, 0))
					}
				}
			}
		})
	}
}

func TestLongIDsOfCallsAreNotRemembered(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	for i := range 3 {
		id := strings.Repeat(strconv.Itoa(i), 100_000)
		s.say(use("", `,"id":"`+id+`","name":"Bash"`) + "\n")
		s.event("PostToolBatch", batch(id))
		assert.Empty(t, s.last().Error)
	}
	memory, err := s.tip().ExtFile(agent.EngineName, "memory.json")
	require.NoError(t, err)
	assert.Less(t, len(memory), 10_000)
}
