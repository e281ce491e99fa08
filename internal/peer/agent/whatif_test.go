package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// whatIf takes another course from a frame of the session.
func (s *session) whatIf(from string) *agent.Course {
	s.t.Helper()
	store, err := timeline.Open(s.t.Context(), timeline.Options{Dir: s.Dir, Env: s.Env, Now: time.Now})
	require.NoError(s.t, err)
	defer func() { assert.NoError(s.t, store.Close()) }()
	course, err := agent.WhatIf{
		From: from, Dir: filepath.Join(s.t.TempDir(), fmt.Sprintf("course-%d", time.Now().UnixNano())), Env: append(s.Env, "HOME="+s.t.TempDir()),
	}.Make(s.t.Context(), store)
	require.NoError(s.t, err)
	return course
}

func TestAnotherCourseStartsFromTheFilesOfItsFrame(t *testing.T) {
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		s := newSession(t, repo)
		s.event("UserPromptSubmit", `,"prompt":"write"`)
		s.Write("made", "one\n")
		s.say(callLine, answerLine)
		s.event("PostToolBatch", batch("c1"))
		s.Write("made", "two\n")
		s.event("Stop", "")
		courses := []*agent.Course{s.whatIf("claude-s@c1"), s.whatIf("claude-s@c1"), s.whatIf("claude-s@turn:1")}
		for _, course := range courses[:2] {
			assert.Equal(t, "one\n", read(t, filepath.Join(course.Dir, "made")))
			assert.Equal(t, 2, course.Kept)
		}
		assert.NoFileExists(t, filepath.Join(courses[2].Dir, "made"))
		assert.Equal(t, "two\n", read(t, filepath.Join(s.Dir, "made")))
	})
}

// The change that a workspace works on is rewritten with each edit, and jj would rewrite its children with it. So a course begins beside
// such a change, and on a change that nobody works on any more.
func TestInJJAnotherCourseIsAChildOfTheFramesChange(t *testing.T) {
	repotest.EachKind(t, func(t *testing.T, kind repotest.Kind, repo *repotest.Repo) {
		if !kind.IsJJ() {
			return
		}
		s := newSession(t, repo)
		s.Write("made", "one\n")
		s.event("UserPromptSubmit", `,"prompt":"write"`)
		frame, err := s.tip().VCSRevision()
		require.NoError(t, err)
		parents := func(dir, of string) string {
			return strings.TrimSpace(s.JJ("--repository", dir, "--ignore-working-copy", "log", "--no-graph", "-r", of, "-T", "change_id"))
		}
		beside := s.whatIf("claude-s:0")
		assert.Equal(t, parents(s.Dir, "@-"), parents(beside.Dir, "@-"))
		s.JJ("new", "-m", "the next change")
		child := s.whatIf("claude-s:0")
		assert.Equal(t, frame.ChangeID, parents(child.Dir, "@-"))
		for _, course := range []*agent.Course{beside, child} {
			assert.Equal(t, "one\n", read(t, filepath.Join(course.Dir, "made")))
		}
	})
}

func TestAnotherCourseHasTheSecretsOfItsClone(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	secret := "ghp_wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO" + "2mHVS1"
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.say(`{"type":"user","message":{"content":"use `+secret+`"}}`+"\n", callLine, answerLine)
	s.event("PostToolBatch", batch("c1"))

	course := s.whatIf("claude-s")
	assert.Zero(t, course.Missing)
	assert.Contains(t, read(t, course.File), secret)
	info, err := os.Stat(course.File)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())

	require.NoError(t, os.RemoveAll(filepath.Join(s.Dir, ".git", "smithers", "vault"))) // as in another clone
	course = s.whatIf("claude-s")
	assert.Equal(t, 1, course.Missing)
	assert.NotContains(t, read(t, course.File), secret)
	assert.Contains(t, read(t, course.File), "«")
}

// An agent writes the lines of a call after the hook of the call, and what it wrote before a prompt can go beyond what a course keeps.
func TestACourseOfACourseHasTheSameConversation(t *testing.T) {
	t.Parallel()
	secret := "ghp_wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO" + "2mHVS1"
	said := func(role, text string) string {
		return fmt.Sprintf(`{"type":%q,"message":{"id":%q,"content":[{"type":"text","text":%q}]}}`+"\n", role, text, text)
	}
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"one"`)
	s.say(said("user", "one"))
	s.event("PostToolBatch", batch("c1"))
	s.say(callLine, strings.ReplaceAll(answerLine, "ok", secret), said("assistant", "done"))
	s.event("Stop", "")
	s.say(said("user", "two"))
	s.event("UserPromptSubmit", `,"prompt":"two"`)
	s.event("PostToolBatch", batch("c2"))
	for address, lines := range map[string][]string{
		"claude-s@c1":     {"one", "c1", secret},
		"claude-s@turn:2": {"one", "c1", secret, "done"},
		"claude-s@c2":     {"one", "c1", secret, "done", "two"},
	} {
		first := s.whatIf(address)
		require.Equal(t, len(lines), first.Kept, address)
		second := s.whatIf(first.Run)
		require.Equal(t, len(lines), second.Kept, address)
		require.Equal(t, len(lines), second.Of, address)
		third := slices.Collect(strings.Lines(read(t, s.whatIf(second.Run).File)))
		require.Len(t, third, len(lines), address)
		for i, line := range third {
			assert.Contains(t, line, lines[i], address)
		}
		assert.Zero(t, second.Missing)

		loaded, err := s.store().Load(t.Context(), second.Run)
		require.NoError(t, err)
		calls, err := loaded.Entry.ToolCalls()
		require.NoError(t, err)
		value, _, err := calls.Get(snapshot.ToolCallKey("turn", 1, 1, 0))
		require.NoError(t, err)
		assert.Contains(t, string(value), `"succeeded"`, address)
		chat, err := agent.Messages(loaded)
		require.NoError(t, err)
		text, err := json.Marshal(chat)
		require.NoError(t, err)
		assert.NotContains(t, string(text), secret)
		assert.Equal(t, slices.Contains(lines, "two"), strings.Contains(string(text), `"two"`), address)
	}
}

// The agent shortens its conversation, and goes back in it. Its file keeps all lines, and names for each the line that it follows.
func TestACourseBeginsWithTheConversationThatTheAgentHad(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	line := func(kind, id, parent, more string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"message":{"id":%[2]q,"content":%[2]q}%[4]s}`+"\n", kind, id, parent, more)
	}
	turn := func(prompt, parent, answer string) {
		s.event("UserPromptSubmit", `,"prompt":"`+prompt+`"`)
		s.say(line("user", prompt, parent, ""), line("attachment", "vendor-"+prompt, `"`+prompt+`"`, ""), line("assistant", answer, `"vendor-`+prompt+`"`, ""))
		s.event("Stop", `,"last_assistant_message":"`+answer+`"`)
	}
	turn("open", "null", "one")
	turn("TAKEN", `"one"`, "two")
	turn("later", `"one"`, "three")
	s.say(line("system", "boundary", "null", ""), line("user", "brief", `"boundary"`, `,"isCompactSummary":true`))
	turn("end", `"brief"`, "four")
	for address, want := range map[string][]string{
		"claude-s@turn:2": {"open", "one"},
		"claude-s@turn:3": {"open", "one"},
		"claude-s@turn:4": {"boundary", "brief"},
		"claude-s":        {"boundary", "brief", "end", "four"},
	} {
		first := s.whatIf(address)
		for _, course := range []*agent.Course{first, s.whatIf(first.Run)} { // a course of a course, too
			var ids, parents []string
			for text := range strings.Lines(read(t, course.File)) {
				var at struct{ UUID, ParentUUID string }
				require.NoError(t, json.Unmarshal([]byte(text), &at))
				ids, parents = append(ids, at.UUID), append(parents, at.ParentUUID)
			}
			assert.Equal(t, want, ids, address)
			assert.Equal(t, append([]string{""}, want[:len(want)-1]...), parents, address)
			assert.Equal(t, len(want), course.Kept, address)
		}
	}
}

func TestASessionCanMoveToAnotherWorktree(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"here"`)
	other := filepath.Join(t.TempDir(), "other")
	s.Git("worktree", "add", "-q", other)
	require.NoError(t, os.WriteFile(filepath.Join(other, "there"), []byte("x"), 0o600))
	s.event("UserPromptSubmit", `,"prompt":"there","cwd":"`+other+`"`)
	assert.Empty(t, s.last().Error)
	assert.Contains(t, s.Git("ls-tree", "--name-only", "refs/smithers/_tip/claude-s:worktree"), "there")
	assert.Equal(t, "2", s.Git("rev-list", "--count", "refs/smithers/_tip/claude-s"), "one run, in both worktrees")
}

// An agent makes its worktrees in the working copy, and enters them in the middle of a session. Subagents can have worktrees of their own.
func TestAnAgentCanEnterAWorktree(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	const id = "0e0e0e"
	event := func(name, members string) {
		s.hook(fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"hook_event_name":%q%s}`, id, s.transcript, name, members))
		assert.Empty(t, s.last().Error)
	}
	event("UserPromptSubmit", `,"prompt":"here"`)
	entered, below := filepath.Join(s.Dir, ".claude", "worktrees", "x"), filepath.Join(s.Dir, ".claude", "worktrees", "x", "src")
	s.Git("worktree", "add", "-q", entered)
	s.say(fmt.Sprintf(`{"type":"assistant","cwd":%q,"message":{"content":%q}}`+"\n", s.Dir, "look at "+s.Dir+"/a"))
	s.say(fmt.Sprintf(`{"type":"worktree-state","worktreeSession":{"originalCwd":%q,"worktreePath":%q}}`+"\n", s.Dir, entered))
	s.Write(".claude/worktrees/x/src/made", "x")
	s.say(fmt.Sprintf(`{"type":"assistant","cwd":%q,"message":{"content":%q}}`+"\n", below, "I wrote "+below+"/made"))
	event("PostToolBatch", `,"cwd":"`+below+`"`+batch("c1"))
	assert.Equal(t, "made\nmain.go", s.Git("ls-tree", "--name-only", "refs/smithers/_tip/claude-0e0e0e:worktree/src"))

	subagent := filepath.Join(s.Dir, ".claude", "worktrees", "agent-a")
	s.Git("worktree", "add", "-q", subagent)
	s.Write(".claude/worktrees/agent-a/sub", "x")
	event("PostToolBatch", `,"agent_id":"a","cwd":"`+subagent+`"`+batch("c2"))
	assert.Contains(t, s.Git("ls-tree", "--name-only", "refs/smithers/_tip/claude-0e0e0e:worktree"), "sub")
	event("PostToolBatch", `,"cwd":"`+s.Dir+`"`+batch("c3"))
	assert.NotContains(t, s.Git("ls-tree", "-r", "--name-only", "refs/smithers/_tip/claude-0e0e0e:worktree"), "made")
	assert.Equal(t, "4", s.Git("rev-list", "--count", "refs/smithers/_tip/claude-0e0e0e"), "one run, in all worktrees")

	course := s.whatIf("claude-0e0e0e@c1")
	assert.Equal(t, "x", read(t, filepath.Join(course.Dir, "src", "made")))
	text := read(t, course.File)
	assert.NotContains(t, text, s.Dir, "the course has a worktree of its own")
	assert.NotContains(t, text, "worktree-state")
	assert.Contains(t, text, "look at "+course.Dir+"/a")
	assert.Contains(t, text, "I wrote "+course.Dir+"/src/made")

	s.Git("init", "-q", "nested")
	event("UserPromptSubmit", `,"prompt":"there","cwd":"`+filepath.Join(s.Dir, "nested")+`"`)
	assert.Contains(t, s.Git("ls-tree", "--name-only", "refs/smithers/_tip/claude-0e0e0e:worktree"), "src", "a nested repository is another one")
}

func TestASessionDoesNotGoToAnotherRepository(t *testing.T) {
	t.Parallel()
	s, other := newSession(t, repotest.New(t, repotest.Commit)), repotest.New(t, repotest.Commit)
	s.event("UserPromptSubmit", `,"prompt":"here"`)
	s.event("UserPromptSubmit", `,"prompt":"there","cwd":"`+other.Dir+`"`)
	assert.Empty(t, s.last().Error)
	assert.Equal(t, "2", s.Git("rev-list", "--count", "refs/smithers/_tip/claude-s"), "the agent has changed its folder alone")
	assert.Empty(t, other.Git("for-each-ref", "refs/smithers"))
	assert.NoDirExists(t, filepath.Join(other.Dir, ".git", "smithers"))

	agent.Hook{
		Agent: dialect.Claude, Input: strings.NewReader(`{"session_id":"e","hook_event_name":"UserPromptSubmit","prompt":"x","cwd":"` + other.Dir + `"}`),
		Dir: other.Dir, Env: append(s.Env, "CLAUDE_PROJECT_DIR="+s.Dir), Now: time.Now,
	}.Run(t.Context())
	assert.NotEmpty(t, s.Git("for-each-ref", "refs/smithers/_tip/claude-e"), "the hook's own folder is that of the agent, too")
	agent.Hook{
		Agent: dialect.Generic, Input: strings.NewReader(`{"session":"g","event":"prompt","prompt":"x","cwd":"` + other.Dir + `"}`), Dir: s.Dir, Env: s.Env, Now: time.Now,
	}.Run(t.Context())
	assert.NotEmpty(t, other.Git("for-each-ref", "refs/smithers/_tip/generic-g"), "any other agent says where it works")
}

func TestSessionsInOneWorktreeAreRunsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	for _, id := range []string{"a", "b", "a"} {
		s.hook(`{"session_id":"` + id + `","hook_event_name":"UserPromptSubmit","prompt":"x"}`)
	}
	assert.Equal(t, "refs/smithers/_tip/claude-a\nrefs/smithers/_tip/claude-b", s.Git("for-each-ref", "--format=%(refname)", "refs/smithers/_tip"))
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestAnotherCourseAsksAboutEffectsThatComeAfterItsFrame(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"write"`)
	s.Write("made", "one\n")
	s.say(callLine, answerLine)
	s.event("PostToolBatch", batch("c1"))
	s.event("Stop", "")
	store := s.store()
	head, err := store.Head(t.Context(), "claude-s")
	require.NoError(t, err)
	call := s.calls()[0]
	call.SideEffect = new(true)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Journal: []snapshot.Change{snapshot.SetToolCall(call)}, Subject: "an effect", AtMs: 1}))
	no := errors.New("no")
	ask := agent.WhatIf{
		Dir: filepath.Join(t.TempDir(), "course"), Env: append(s.Env, "HOME="+t.TempDir()),
		Effects: func(_ context.Context, effects []snapshot.ToolCall) error {
			assert.Len(t, effects, 1)
			return no
		},
	}
	ask.From = "claude-s@turn:1"
	_, err = ask.Make(t.Context(), store)
	require.ErrorIs(t, err, no)
	assert.NoDirExists(t, ask.Dir)
	ask.From = "claude-s"
	_, err = ask.Make(t.Context(), store)
	require.NoError(t, err, "it is behind the newest frame")
}
