package agent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestUnsavedChangesAreFoundInEveryKindOfWorkingCopy(t *testing.T) {
	repotest.EachKind(t, func(t *testing.T, _ repotest.Kind, repo *repotest.Repo) {
		s := newSession(t, repo)
		s.event("UserPromptSubmit", `,"prompt":"write"`)
		s.Write("made", "one\n")
		s.event("Stop", "")
		store, at := s.store(), timeline.Address{Run: "claude-s", Frame: 0}
		require.NoError(t, agent.CheckSaved(t.Context(), store, at))
		s.Write("made", "two\n")
		s.Write("new", "two\n")
		err := agent.CheckSaved(t.Context(), store, at)
		assert.Equal(t, fault.UnsavedWork, fault.CodeOf(err))
		assert.ErrorContains(t, err, "in 2 files: made, new")
	})
}

func TestTheCheckpointsOfAForkBeginWithTheFrameOfItsParent(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"write"`)
	s.Write("made", "one\n")
	s.say(callLine, answerLine)
	s.event("PostToolBatch", batch("c1"))
	course := s.whatIf("claude-s@c1")

	all := s.checkpoints(course.Run)
	require.Len(t, all, 1)
	assert.Equal(t, "ckpt-"+course.Run+"-0", all[0].ID)
	assert.Equal(t, course.Session, all[0].Session)
	assert.Equal(t, 1, all[0].ToolCalls)
	assert.Empty(t, s.checkpoints(course.Run + ":0")[0].Diffs)
	assert.Len(t, s.checkpoints("claude-s"), 2)
}

func TestABriefOfASessionThatHasJustBegun(t *testing.T) {
	t.Parallel()
	s := newSession(t, repotest.New(t, repotest.Commit))
	s.event("UserPromptSubmit", `,"prompt":"  write\nmore"`)
	store := s.store()
	at, err := store.Load(t.Context(), "claude-s:0")
	require.NoError(t, err)
	brief, err := agent.BriefOf(t.Context(), store, at)
	require.NoError(t, err)
	assert.Equal(t, "write", brief.Title)
	assert.Equal(t, "in-progress", brief.State)
	assert.Empty(t, brief.Tools)
	assert.Empty(t, brief.Files)
	assert.Empty(t, brief.Summary)
	chat, err := agent.Messages(at)
	require.NoError(t, err)
	require.Len(t, chat.Messages, 1, "the prompts stand in where no line says anything")
}
