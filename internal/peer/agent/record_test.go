package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// session is a session of a coding agent in a repository.
type session struct {
	*repotest.Repo

	t          *testing.T
	transcript string
}

func newSession(t *testing.T, repo *repotest.Repo) *session {
	t.Helper()
	s := &session{repo, t, filepath.Join(t.TempDir(), "transcript.jsonl")}
	repo.OnCleanup(func(t testing.TB) {
		t.Helper()
		store, err := timeline.Open(context.Background(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: time.Now})
		require.NoError(t, err)
		defer func() { assert.NoError(t, store.Close()) }()
		report, err := verify.Runs(context.Background(), store)
		require.NoError(t, err)
		assert.Empty(t, report.Problems)
	})
	return s
}

// say adds lines to the transcript.
func (s *session) say(lines ...string) {
	s.t.Helper()
	file, err := os.OpenFile(s.transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(s.t, err)
	_, err = file.WriteString(strings.Join(lines, ""))
	require.NoError(s.t, err)
	require.NoError(s.t, file.Close())
}

// hook calls a hook with an input.
func (s *session) hook(input string) {
	agent.Hook{Agent: dialect.Claude, Event: "test", Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(s.t.Context())
}

// event calls a hook with an event of Claude Code. members are more members of the input.
func (s *session) event(name, members string) {
	path, err := json.Marshal(s.transcript)
	require.NoError(s.t, err)
	s.hook(fmt.Sprintf(`{"session_id":"s","transcript_path":%s,"hook_event_name":%q%s}`, path, name, members))
}

// last returns the newest call in the log of hooks.
func (s *session) last() agent.LogEntry {
	s.t.Helper()
	log, err := agent.Log(filepath.Join(s.Dir, ".git", "smithers"))
	require.NoError(s.t, err)
	require.NotEmpty(s.t, log)
	return log[len(log)-1]
}

// tip returns the newest entry of the session's run.
func (s *session) tip() *snapshot.Entry {
	s.t.Helper()
	store, err := timeline.Open(s.t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, store.Close()) })
	head, err := store.Head(s.t.Context(), "claude-s")
	require.NoError(s.t, err)
	return head.Entry()
}

// turn returns the state of a turn at the newest entry.
func (s *session) turn(number int) snapshot.NodeState {
	s.t.Helper()
	state, err := s.tip().State()
	require.NoError(s.t, err)
	key := snapshot.Key("turn", number)
	value, found, err := state.Nodes().Get(key)
	require.NoError(s.t, err)
	require.True(s.t, found)
	node, err := snapshot.DecodeNode(page.Row{Key: key, Value: value})
	require.NoError(s.t, err)
	return node.State
}

// The lines of a transcript about the call c1.
const (
	callLine   = `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}}` + "\n"
	answerLine = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}}` + "\n"
)

// batch is the members of the event of a batch.
func batch(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"tool_name":"Bash","tool_use_id":"%s"}`, id))
	}
	return `,"tool_calls":[` + strings.Join(calls, ",") + `]`
}

// A prompt-injected agent can name any file of the user as its transcript.
func TestOnlyLinesOfATranscriptAreStored(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.say("-----BEGIN KEY-----\n", "c2VjcmV0\n", "\n", "{half\n", "[1]\n", callLine)
	s.event("UserPromptSubmit", `,"prompt":"x"`)
	rows, err := s.tip().Transcript()
	require.NoError(t, err)
	var stored []string
	for row, err := range rows.Rows() {
		require.NoError(t, err)
		lines, err := snapshot.DecodeTranscript(row)
		require.NoError(t, err)
		for _, line := range lines {
			stored = append(stored, string(line)+"\n")
		}
	}
	assert.Equal(t, []string{callLine}, stored)
}

func TestTheLogOfHooksStaysSmall(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	input := fmt.Sprintf(`{"agent":%q,"session":"c","event":"prompt"}`, strings.Repeat("A", 1<<20))
	agent.Hook{Agent: dialect.Generic, Event: "test", Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
	assert.NotEmpty(t, s.last().Error)
	assert.Less(t, len(s.last().Error), 10<<10)
}

func TestAnAgentDoesNotWriteIntoTheSessionOfAnother(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.hook(`{"session_id":"b-c","hook_event_name":"UserPromptSubmit","prompt":"x"}`)
	input := `{"agent":"claude-b","session":"c","event":"prompt","prompt":"y"}`
	agent.Hook{Agent: dialect.Generic, Event: "test", Input: strings.NewReader(input), Dir: s.Dir, Env: s.Env, Now: time.Now}.Run(t.Context())
	assert.Contains(t, s.last().Error, `run "claude-b-c" is a session of "claude"`)
	assert.False(t, s.last().Frame)
}

func TestAFrameHasTheFilesOfItsBatch(t *testing.T) {
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		s := newSession(t, repo)
		s.event("UserPromptSubmit", `,"prompt":"write"`)
		first := s.tip()
		for i := range 3 {
			s.Write("made", strconv.Itoa(i))
			s.event("PostToolBatch", batch(fmt.Sprint("c", i)))
			tip := s.tip()
			vcs, err := tip.VCSRevision()
			require.NoError(t, err)
			if kind.IsJJ() && kind != repotest.JJColocated {
				continue // plain git does not see the objects of this working copy here
			}
			assert.Equal(t, strconv.Itoa(i), s.Git("cat-file", "blob", vcs.Tree.String()+":made"))
		}
		assert.EqualValues(t, 3, s.tip().Frame)
		assert.EqualValues(t, 0, first.Frame)
	})
}

func TestATranscriptThatLagsIsCompletedByTheNextHook(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"write"`)
	whole := callLine
	s.say(whole[:20])
	s.event("PostToolBatch", batch("c1"))
	calls := s.calls()
	require.Len(t, calls, 1)
	assert.Equal(t, snapshot.ToolCallIntended, calls[0].Status)
	assert.Nil(t, calls[0].InputAt, "half a line is none")

	s.say(whole[20:], answerLine)
	s.event("Stop", "")
	calls = s.calls()
	require.Len(t, calls, 1)
	assert.Equal(t, snapshot.ToolCallSucceeded, calls[0].Status)
	assert.Equal(t, &snapshot.TranscriptRange{Transcript: "s", Offset: 0, Length: int64(len(whole) - 1)}, calls[0].InputAt)
	rows, err := s.tip().Transcript()
	require.NoError(t, err)
	var got []byte
	for r, err := range rows.Rows() {
		require.NoError(t, err)
		lines, err := snapshot.DecodeTranscript(r)
		require.NoError(t, err)
		_, offset, err := snapshot.SplitTranscriptKey(r.Key)
		require.NoError(t, err)
		assert.EqualValues(t, len(got), offset)
		for _, line := range lines {
			got = append(append(got, line...), '\n')
		}
	}
	want, err := os.ReadFile(s.transcript)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

// calls returns the tool calls of the session.
func (s *session) calls() []snapshot.ToolCall {
	s.t.Helper()
	var calls []snapshot.ToolCall
	for c, err := range s.tip().AllToolCalls() {
		require.NoError(s.t, err)
		calls = append(calls, c)
	}
	return calls
}

func TestATurnEndsAsItsSessionGoesOn(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	assert.Equal(t, snapshot.NodeInProgress, s.turn(1))
	s.event("Stop", "")
	assert.Equal(t, snapshot.NodeFinished, s.turn(1))
	s.event("UserPromptSubmit", `,"prompt":"two"`)
	s.event("UserPromptSubmit", `,"prompt":"three"`)
	assert.Equal(t, snapshot.NodeCancelled, s.turn(2), "the user has interrupted it")
	s.event("SessionStart", `,"source":"resume"`)
	assert.Equal(t, snapshot.NodeFailed, s.turn(3), "the agent was killed")
	s.event("SessionEnd", "")
	row, err := s.tip().RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, row.Status)
	s.event("UserPromptSubmit", `,"prompt":"four"`)
	row, err = s.tip().RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunRunning, row.Status, "the session is resumed")
	assert.Nil(t, row.FinishedAtMs)
}

func TestWhatChangesNothingMakesNoFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.event("Stop", "")
	before := s.tip().ID
	for _, event := range []struct{ name, members string }{
		{"SessionStart", `,"source":"resume"`},
		{"SessionStart", `,"source":"compact"`},
		{"PreCompact", ""},
		{"SubagentStop", ""},
		{"SubagentStop", `,"agent_id":"a"`},
		{"UserPromptSubmit", `,"prompt":"<task-notification>"`},
		{"Stop", ""},
		{"Notification", ""},
		{"PostToolBatch", `,"tool_calls":[{"tool_name":"Read","tool_use_id":"r"}]`},
	} {
		s.event(event.name, event.members)
		assert.Equal(t, before, s.tip().ID, event.name)
		assert.Empty(t, s.last().Error)
	}
}

func TestHooksAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	const each, hooks = 4, 4
	var all sync.WaitGroup
	for h := range hooks {
		all.Go(func() {
			for i := range each {
				s.event("PostToolBatch", batch(fmt.Sprintf("c%d-%d", h, i)))
			}
		})
	}
	all.Wait()
	assert.Len(t, s.calls(), each*hooks)
}

func TestAHookBearsWhateverItIsHanded(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	big := strings.Repeat("x", 10<<20)
	for name, input := range map[string]string{
		"nothing": "", "no JSON": "{", "a list": "[]", "no session": `{"hook_event_name":"Stop"}`, "wrong types": `{"session_id":7}`,
		"a session that is no name": `{"session_id":"../a b","hook_event_name":"UserPromptSubmit","prompt":"x"}`,
	} {
		s.hook(input)
		assert.NotEmpty(t, s.last().Error, name)
	}
	for name, input := range map[string]string{
		"an unknown event":              `{"session_id":"s","hook_event_name":"Later"}`,
		"a large prompt":                `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"` + big + `"}`,
		"invalid UTF-8":                 "{\"session_id\":\"s\",\"hook_event_name\":\"UserPromptSubmit\",\"prompt\":\"a\xffb\"}",
		"unknown members":               `{"session_id":"s","hook_event_name":"Stop","later":{"a":[1]},"last_assistant_message":"x"}`,
		"a transcript that is a folder": fmt.Sprintf(`{"session_id":"f","hook_event_name":"UserPromptSubmit","prompt":"x","transcript_path":%q}`, s.Dir),
	} {
		s.hook(input)
		assert.Empty(t, s.last().Error, name)
	}
}

func TestASecretInAConversationIsNotStored(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	secret := "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO" + "2mHVS1"
	s.say(`{"type":"user","message":{"content":"use `+secret+`"}}`+"\n", callLine)
	s.event("UserPromptSubmit", `,"prompt":"use `+secret+`"`)
	s.event("Stop", `,"last_assistant_message":"I used `+secret+`"`)
	out, err := s.GitErr("grep", "-c", secret, "refs/smithers/_tip/claude-s")
	require.Error(t, err, out)
	assert.Contains(t, s.Git("grep", "-h", "use «", "refs/smithers/_tip/claude-s"), "use «")
}

// The project lists words that must not be stored, for example names of clients.
func TestTheWordsOfTheProjectAreNotStored(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.Write(".smithers/secrets.yaml", "words: [Blauwal]\n")
	s.say(`{"type":"user","message":{"content":"for Blauwal"}}`+"\n", callLine, `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"Blauwal"}]}}`+"\n")
	s.event("UserPromptSubmit", `,"prompt":"for Blauwal"`)
	s.event("PostToolBatch", batch("c1"))
	s.event("Stop", `,"last_assistant_message":"Blauwal is done"`)
	assert.Empty(t, s.last().Error)
	out, err := s.GitErr("grep", "-c", "Blauwal", "refs/smithers/_tip/claude-s", "--", "journal", "state", "events", "run.json")
	require.Error(t, err, out)
	assert.NotContains(t, s.Git("log", "--format=%B", "refs/smithers/_tip/claude-s"), "Blauwal")
	assert.Contains(t, s.Git("grep", "-h", "secret:word", "refs/smithers/_tip/claude-s", "--", "journal/transcript"), "«secret:word:1»")
}

func TestASecretCanRefuseAFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.Git("config", "smithers.secrets", "refuse")
	s.event("UserPromptSubmit", `,"prompt":"plain"`)
	before := s.tip().ID
	s.event("UserPromptSubmit", `,"prompt":"use ghp_wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO`+"2mHVS1"+`"`)
	assert.Equal(t, before, s.tip().ID)
	assert.Equal(t, string(fault.SecretsFound), s.last().Code, s.last().Error)
	assert.NotContains(t, s.last().Error, "2mHVS1")
}

func TestACallHasOneRowHoweverLateItsHookIs(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.say(callLine, answerLine)
	s.event("SubagentStop", `,"agent_id":"a"`) // it reads the result first
	s.event("PostToolBatch", batch("c1"))
	s.event("PostToolBatch", batch("c1"))
	calls := s.calls()
	require.Len(t, calls, 1)
	assert.Equal(t, snapshot.ToolCallSucceeded, calls[0].Status)
}

func TestASessionIsRecordedFromTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.say(`{"type":"user","message":{"content":"before"}}`+"\n", callLine, answerLine)
	s.event("PostToolBatch", batch("c1"))
	s.event("Stop", `,"last_assistant_message":"x"`)
	assert.Empty(t, s.last().Error)
	assert.Len(t, s.calls(), 1)
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	assert.Equal(t, snapshot.NodeInProgress, s.turn(1))
}

func TestTokensCountForTheTurnThatSpentThem(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	spent := func(message string, tokens int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":%q,"usage":{"output_tokens":%d},"content":[]}}`+"\n", message, tokens)
	}
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.say(spent("m1", 3), spent("m1", 3))
	s.event("Stop", "")
	s.say(spent("m2", 4)) // the transcript lags
	s.event("UserPromptSubmit", `,"prompt":"two"`)
	s.say(spent("m3", 5))
	s.event("Stop", "")
	state, err := s.tip().State()
	require.NoError(t, err)
	for turn, tokens := range []int{1: 7, 2: 5} {
		value, found, err := state.Outputs("usage").Get(snapshot.Key("turn", turn))
		require.NoError(t, err)
		assert.Equal(t, turn > 0, found)
		if found {
			assert.Contains(t, string(value), fmt.Sprintf(`"outputTokens":%d,`, tokens))
		}
	}
}

// said returns the lines of the conversation that are stored, by transcript.
func (s *session) said() map[string][]string {
	s.t.Helper()
	rows, err := s.tip().Transcript()
	require.NoError(s.t, err)
	said := make(map[string][]string)
	for r, err := range rows.Rows() {
		require.NoError(s.t, err)
		name, _, err := snapshot.SplitTranscriptKey(r.Key)
		require.NoError(s.t, err)
		lines, err := snapshot.DecodeTranscript(r)
		require.NoError(s.t, err)
		for _, line := range lines {
			said[name] = append(said[name], string(line))
		}
	}
	return said
}

func TestAFileThatIsWrittenAnewIsAnotherTranscript(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]string{
		"shorter":                `{"n":3}` + "\n",
		"longer, in other lines": `{"n":"33333333333333333333333333"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, repotest.New(t, repotest.Commit))
			s.event("UserPromptSubmit", `,"prompt":"one"`)
			s.say(`{"n":1}`+"\n", `{"n":2}`+"\n")
			s.event("Stop", "")
			require.NoError(t, os.WriteFile(s.transcript, []byte(anew), 0o600))
			s.event("UserPromptSubmit", `,"prompt":"two"`)
			s.say(`{"n":4}` + "\n")
			s.event("Stop", "")
			assert.Equal(t, map[string][]string{
				"s": {`{"n":1}`, `{"n":2}`}, "s~2": {strings.TrimSpace(anew), `{"n":4}`},
			}, s.said())
		})
	}
}

func TestALongTranscriptIsReadByParts(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.say(`{"n":1}`+"\n", `{"image":"`+strings.Repeat("x", 9<<20)+`"}`+"\n", `{"n":2}`+"\n")
	for i := range 3 {
		s.event("UserPromptSubmit", fmt.Sprintf(`,"prompt":"%d"`, i))
		assert.Empty(t, s.last().Error)
	}
	assert.Equal(t, map[string][]string{"s": {`{"n":1}`, `{"n":2}`}}, s.said(), "a line of 9 MB is left out")
}

func TestAFrameIsMadeWhereTheFilesCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	index := filepath.Join(s.Dir, ".git", "index")
	sound, err := os.ReadFile(index)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(index, []byte("DIRCbroken"), 0o600))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	assert.Empty(t, s.last().Error)
	assert.NotEmpty(t, s.last().Warning)
	assert.Equal(t, snapshot.NodeInProgress, s.turn(1))
	require.NoError(t, os.WriteFile(index, sound, 0o600))
	s.event("Stop", "")
	vcs, err := s.tip().VCSRevision()
	require.NoError(t, err)
	assert.False(t, vcs.Tree.IsZero())
}

func TestAForkWithoutItsIDIsStillRecorded(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	store, err := timeline.Open(t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(t, err)
	_, err = store.Fork(t.Context(), timeline.ForkRequest{From: "claude-s", RunID: "claude-f"}) // what-if was killed here
	require.NoError(t, err)
	require.NoError(t, store.Close())
	s.say(`{"n":1}` + "\n")
	s.hook(fmt.Sprintf(`{"session_id":"f","transcript_path":%q,"hook_event_name":"UserPromptSubmit","prompt":"two"}`, s.transcript))
	assert.Empty(t, s.last().Error)
	assert.Contains(t, s.Git("grep", "-h", "n", "refs/smithers/_tip/claude-f", "--", "journal/transcript"), `{"n":1}`)
}
