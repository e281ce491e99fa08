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
	"github.com/git-smithers/git-smithers/timeline"
)

// forkedRun returns the run of a session, and its newest entry.
func (s *session) forkedRun(run string) (snapshot.Run, *snapshot.Entry) {
	s.t.Helper()
	store, err := timeline.Open(s.t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, store.Close()) })
	head, err := store.Head(s.t.Context(), run)
	require.NoError(s.t, err)
	return head.Row(), head.Entry()
}

// callsOf returns the agent's ids of the tool calls of a run.
func (s *session) callsOf(run string) (ids []string) {
	s.t.Helper()
	_, entry := s.forkedRun(run)
	for c, err := range entry.AllToolCalls() {
		require.NoError(s.t, err)
		ids = append(ids, c.CallToken)
	}
	return ids
}

// lines of Claude Code with a call and its tokens.
func claudeTurn(session, prompt, after string) string {
	line := func(kind, id, parent, message string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":%q,"message":%s}`+"\n", kind, id, parent, session, message)
	}
	quote := func(id string) string { return `"` + id + `"` }
	return line("user", prompt, after, `{"content":"`+prompt+`"}`) +
		line("assistant", "call-"+prompt, quote(prompt), `{"id":"m-`+prompt+`","usage":{"input_tokens":10},"content":[{"type":"tool_use","id":"toolu-`+prompt+`","name":"Bash","input":{}}]}`) +
		line("user", "result-"+prompt, quote("call-"+prompt), `{"content":[{"type":"tool_result","tool_use_id":"toolu-`+prompt+`","content":"ok"}]}`) +
		line("assistant", "answer-"+prompt, quote("result-"+prompt), `{"id":"n-`+prompt+`","usage":{"input_tokens":10},"content":[{"type":"text","text":"done"}]}`)
}

// Claude Code copies the lines of a session into the file of its fork, and writes this file after the hook of the first prompt. No line need name the
// other session.
func TestASessionThatItsAgentHasForkedIsAFork(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	hook := func(id, name, members string) {
		s.hook(fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"hook_event_name":%q%s}`, id, s.transcript, name, members))
		require.Empty(t, s.last().Error+s.last().Warning)
	}
	turn := func(id, prompt, after string) {
		hook(id, "UserPromptSubmit", `,"prompt":"`+prompt+`"`)
		s.say(claudeTurn(id, prompt, after))
		s.Write("made", prompt)
		hook(id, "PostToolBatch", batch("toolu-"+prompt))
		hook(id, "Stop", `,"last_assistant_message":"done"`)
	}
	const first, other, fork, again = "0aaa", "0bbb", "0ccc", "0ddd"
	turn(first, "one", "null")
	turn(first, "two", `"answer-one"`)
	copied := claudeTurn(fork, "one", "null")
	dir := filepath.Dir(s.transcript)
	s.transcript = filepath.Join(dir, other)
	turn(other, "else", "null")

	for _, id := range []string{fork, again} {
		s.transcript = filepath.Join(dir, id)
		hook(id, "SessionStart", `,"source":"fork"`)
		hook(id, "UserPromptSubmit", `,"prompt":"three"`)
		s.say(strings.ReplaceAll(copied, fork, id), claudeTurn(id, "three-"+id, `"answer-one"`))
		hook(id, "Stop", `,"last_assistant_message":"done"`)
		row, entry := s.forkedRun("claude-" + id)
		require.NotNil(t, row.Parent)
		assert.Equal(t, "claude-"+first, row.Parent.RunID)
		assert.EqualValues(t, 1, row.Parent.Frame, "the first frame with the last line that was copied")
		assert.Equal(t, []string{"toolu-three-" + id}, s.callsOf("claude-"+id))
		state, err := entry.State()
		require.NoError(t, err)
		assert.Equal(t, 1, state.Outputs("prompts").Len())
		value, _, err := state.Outputs("usage").Get(snapshot.Key("turn", 1))
		require.NoError(t, err)
		assert.Contains(t, string(value), `"inputTokens":20`)
		hook(id, "UserPromptSubmit", `,"prompt":"four"`)
		assert.Len(t, s.callsOf("claude-"+id), 1)
	}
	text := read(t, s.whatIf("claude-"+fork+"@turn:2").File)
	assert.Contains(t, text, "answer-one")
	assert.Contains(t, text, "answer-three-")
	assert.NotContains(t, text, "answer-two")
}

// Where the other session is not recorded, the copies do not count either.
func TestCopiesOfASessionFromElsewhereDoNotCount(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.say(strings.ReplaceAll(claudeTurn("0ccc", "one", "null"), `"sessionId"`, `"forkedFrom":{"sessionId":"0aaa"},"sessionId"`), claudeTurn("0ccc", "two", `"answer-one"`))
	s.hook(fmt.Sprintf(`{"session_id":"0ccc","transcript_path":%q,"hook_event_name":"UserPromptSubmit","prompt":"x"}`, s.transcript))
	row, _ := s.forkedRun("claude-0ccc")
	assert.Nil(t, row.Parent)
	assert.Equal(t, []string{"toolu-two"}, s.callsOf("claude-0ccc"))
}

// pi copies the lines, too. Codex names the other session, and copies nothing.
func TestForksOfOtherAgents(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	say := func(name string, lines ...string) string {
		path := filepath.Join(filepath.Dir(s.transcript), name)
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		return path
	}
	hook := func(name, format string, args ...any) {
		agent.Hook{Agent: name, Event: "test", Input: strings.NewReader(fmt.Sprintf(format, args...)), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
		require.Empty(t, s.last().Error+s.last().Warning)
	}
	piLine := func(id, parent, minute string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-01-01T00:%s:00Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c-%s","name":"bash","arguments":{}}],"usage":{"input":1}}}`, id, parent, minute, id)
	}
	header := `{"type":"session","id":"0aaa","timestamp":"2026-01-01T00:01:00Z"}`
	hook(dialect.Pi, `{"session":"0aaa","event":"prompt","prompt":"x","transcript":%q}`, say("t_0aaa.jsonl", header, piLine("a", "", "02")))
	forked := `{"type":"session","id":"0bbb","timestamp":"2026-01-01T00:05:00Z","parentSession":"/x/t_%s.jsonl"}`
	hook(dialect.Pi, `{"session":"0bbb","event":"prompt","prompt":"x","transcript":%q}`, say("t_0bbb.jsonl", fmt.Sprintf(forked, "0aaa"), piLine("a", "", "02"), piLine("b", "a", "06")))
	row, _ := s.forkedRun("pi-0bbb")
	require.NotNil(t, row.Parent)
	assert.Equal(t, "pi-0aaa", row.Parent.RunID)
	assert.Equal(t, []string{"c-b"}, s.callsOf("pi-0bbb"))

	meta := func(id, more string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:01:00Z","type":"session_meta","payload":{"id":%q,"cwd":%q%s}}`, id, s.Dir, more)
	}
	answer := func(text string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:02:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}}`, text)
	}
	hook(dialect.Codex, `{"session_id":"0ccc","hook_event_name":"UserPromptSubmit","prompt":"x","transcript_path":%q}`, say("c", meta("0ccc", ""), answer("WAS")))
	hook(dialect.Codex, `{"session_id":"0ddd","hook_event_name":"UserPromptSubmit","prompt":"x","transcript_path":%q}`,
		say("d", meta("0ddd", `,"forked_from_id":"0ccc"`), answer("IS")))
	row, _ = s.forkedRun("codex-0ddd")
	require.NotNil(t, row.Parent)
	assert.Equal(t, "codex-0ccc", row.Parent.RunID)
	text := read(t, s.whatIf("codex-0ddd").File)
	assert.Contains(t, text, "WAS")
	assert.Contains(t, text, "IS")
	assert.NotContains(t, text, "forked_from_id")
}

// Codex numbers its lines, and names the first one that the fork does not have. The fork comes from the frame that had read the line before, and has no later line.
func TestAForkOfCodexBeginsWhereItsLinesEnd(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	line := func(number int, kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:01:00Z","ordinal":%d,"type":%q,"payload":{%s}}`+"\n", number, kind, payload)
	}
	said := func(number int, role, text string) string {
		return line(number, "response_item", fmt.Sprintf(`"type":"message","role":%q,"content":[{"type":"output_text","text":%q}]`, role, text))
	}
	hook := func(id, event, members string) {
		input := fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"hook_event_name":%q%s}`, id, s.transcript, event, members)
		agent.Hook{Agent: dialect.Codex, Event: event, Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
		require.Empty(t, s.last().Error+s.last().Warning)
	}
	s.say(line(0, "session_meta", `"id":"0aaa"`))
	for turn, text := range []string{"ONE", "TWO", "THREE"} {
		hook("0aaa", "UserPromptSubmit", `,"prompt":"`+text+`"`)
		s.say(said(1+2*turn, "user", text), said(2+2*turn, "assistant", "DID "+text))
		hook("0aaa", "Stop", "")
	}
	s.transcript = filepath.Join(filepath.Dir(s.transcript), "fork")
	s.say(line(5, "session_meta", `"id":"0bbb","forked_from_id":"0aaa","forked_from_ordinal_exclusive":5`), said(6, "assistant", "OTHER"))
	hook("0bbb", "UserPromptSubmit", `,"prompt":"x"`)
	row, _ := s.forkedRun("codex-0bbb")
	require.NotNil(t, row.Parent)
	assert.EqualValues(t, 3, row.Parent.Frame, "the end of the second turn")
	text := read(t, s.whatIf("codex-0bbb").File)
	assert.Contains(t, text, "DID TWO")
	assert.Contains(t, text, "OTHER")
	assert.NotContains(t, text, "THREE")
}

// opencode copies messages with other ids, and with their times. Nothing names the other session.
func TestAForkOfOpencodeIsFoundByTheTimesOfItsMessages(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	now := time.Now().UnixMilli()
	message := func(id, role, text string, ms int64) string {
		return fmt.Sprintf(`{"type":"message","info":{"id":%[1]q,"role":%[2]q,"time":{"created":%[3]d,"completed":%[3]d},"tokens":{"input":10}}}`+"\n"+
			`{"type":"part","role":%[2]q,"part":{"id":"p-%[1]s","messageID":%[1]q,"type":"text","text":%[4]q}}`+"\n", id, role, ms, text)
	}
	header := func(id string, ms int64) string {
		return fmt.Sprintf(`{"type":"session","info":{"id":%q,"directory":%q,"time":{"created":%d}}}`+"\n", id, s.Dir, ms)
	}
	hook := func(id, event, members string) {
		input := fmt.Sprintf(`{"session":%q,"event":%q,"transcript":%q%s}`, id, event, s.transcript, members)
		agent.Hook{Agent: dialect.Opencode, Event: event, Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
		require.Empty(t, s.last().Error+s.last().Warning)
	}
	s.say(header("0aaa", now))
	for turn, text := range []string{"one", "two"} {
		hook("0aaa", "prompt", `,"prompt":"`+text+`"`)
		s.say(message(fmt.Sprint("u", turn), "user", text, now+int64(10*turn)), message(fmt.Sprint("a", turn), "assistant", "did "+text, now+int64(10*turn+5)))
		hook("0aaa", "answer", `,"answer":"x"`)
	}
	s.transcript = filepath.Join(filepath.Dir(s.transcript), "fork")
	s.say(header("0bbb", now+1000), message("v0", "user", "one", now), message("b0", "assistant", "did one", now+5))
	hook("0bbb", "prompt", `,"prompt":"three"`)
	s.say(message("v1", "user", "three", now+2000), message("b1", "assistant", "did three", now+2005))
	hook("0bbb", "answer", `,"answer":"x"`)
	row, entry := s.forkedRun("opencode-0bbb")
	require.NotNil(t, row.Parent)
	assert.Equal(t, "opencode-0aaa", row.Parent.RunID)
	assert.EqualValues(t, 1, row.Parent.Frame, "the end of the first turn")
	state, err := entry.State()
	require.NoError(t, err)
	value, _, err := state.Outputs("usage").Get(snapshot.Key("turn", 1))
	require.NoError(t, err)
	assert.Contains(t, string(value), `"inputTokens":10,`)
}

// An imported session that its agent has forked is a fork of the run of the other session, and has its own prompts, calls and tokens alone.
func TestAnImportedForkIsAFork(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	first := claudeTurn("0aaa", "one", "null")
	codex := func(id, more, prompt string, number int) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:01:00Z","type":"session_meta","payload":{"id":%q,"cwd":%q%s}}`+"\n", id, s.Dir, more) +
			fmt.Sprintf(`{"timestamp":"2026-01-01T00:02:00Z","ordinal":%d,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}}`+"\n", number, prompt)
	}
	for _, c := range []struct {
		agent, parent, fork string
		turns               int // of the parent
		calls               []string
	}{
		{"claude", first + claudeTurn("0aaa", "two", `"answer-one"`), strings.ReplaceAll(first, "0aaa", "0bbb") + claudeTurn("0bbb", "three", `"answer-one"`), 2, []string{"toolu-three"}},
		{"codex", codex("0aaa", "", "one", 1), codex("0bbb", `,"forked_from_id":"0aaa","forked_from_ordinal_exclusive":2`, "three", 3), 1, nil},
	} {
		speaks, _ := dialect.Of(c.agent)
		imported := func(id, text string) *agent.Imported {
			store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
			require.NoError(t, err)
			defer store.Close() //nolint:errcheck // only a test
			path := filepath.Join(t.TempDir(), id+".jsonl")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			out, err := agent.Import{Speaks: speaks, Path: path, Shown: path}.Run(t.Context(), store)
			require.NoError(t, err)
			return out
		}
		assert.Equal(t, c.turns, imported("0aaa", c.parent).Turns)
		out := imported("0bbb", c.fork)
		assert.Equal(t, 1, out.Turns)
		assert.Equal(t, 3, out.Frames, "the fork, the prompt and the end")
		row, entry := s.forkedRun(c.agent + "-0bbb")
		require.NotNil(t, row.Parent)
		assert.Equal(t, c.agent+"-0aaa", row.Parent.RunID)
		assert.Equal(t, c.calls, s.callsOf(c.agent+"-0bbb"))
		state, err := entry.State()
		require.NoError(t, err)
		assert.Equal(t, 1, state.Outputs("prompts").Len())
	}
}
