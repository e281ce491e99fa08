package retention_test

import (
	"context"
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
	"github.com/git-smithers/git-smithers/internal/peer/agent/retention"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const day = 24 * time.Hour

// archive is a repository with sessions, and a clock.
type archive struct {
	*repotest.Repo

	t   *testing.T
	now time.Time
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	a := &archive{repotest.New(t, repotest.Commit), t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	a.OnCleanup(func(t testing.TB) {
		t.Helper()
		a.open(func(s *timeline.Store) {
			report, err := verify.Runs(context.Background(), s)
			require.NoError(t, err)
			assert.Empty(t, report.Problems)
		})
	})
	return a
}

// open calls f with the history.
func (a *archive) open(f func(*timeline.Store)) {
	a.t.Helper()
	s, err := timeline.Open(context.Background(), timeline.Options{Dir: a.Dir, Env: a.Env, Now: func() time.Time { return a.now }})
	require.NoError(a.t, err)
	defer func() { assert.NoError(a.t, s.Close()) }()
	f(s)
}

// hooks calls hooks with events of a session.
func (a *archive) hooks(session string, events ...string) {
	a.t.Helper()
	for _, event := range events {
		input := fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"prompt":"x"}`, session, event)
		agent.Hook{
			Agent: dialect.Claude, Event: event, Input: strings.NewReader(input), Dir: a.Dir, Env: a.Env, Now: func() time.Time { return a.now },
			Recall: retention.Recall,
		}.Run(a.t.Context())
	}
}

// round makes a round, and returns what it did with each session.
func (a *archive) round() (done map[string]string, collected []string) {
	a.t.Helper()
	done = make(map[string]string)
	a.open(func(s *timeline.Store) {
		plan, err := retention.Plan(a.t.Context(), s)
		require.NoError(a.t, err)
		got, err := retention.Round(a.t.Context(), s)
		require.NoError(a.t, err)
		assert.Equal(a.t, plan, got.Sessions, "a round does what was planned")
		for _, one := range got.Sessions {
			done[one.RunID] = one.Kept
			if one.Pruned {
				done[one.RunID] = "pruned"
			}
		}
		collected = got.Collected
	})
	return done, collected
}

// exists reports whether there is a run.
func (a *archive) exists(run string) bool {
	_, err := a.GitErr("rev-parse", "--verify", "-q", "refs/smithers/_tip/"+run)
	return err == nil
}

func TestOldSessionsGo(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.hooks("old", "UserPromptSubmit", "SessionEnd")
	a.hooks("killed", "UserPromptSubmit")
	a.hooks("labelled", "UserPromptSubmit", "SessionEnd")
	a.hooks("parent", "UserPromptSubmit", "SessionEnd")
	a.open(func(s *timeline.Store) {
		_, err := agent.MakeCheckpoint(t.Context(), s, "claude-labelled", "keep me")
		require.NoError(t, err)
		_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "claude-parent", RunID: "fork-of-a-session"})
		require.NoError(t, err)
		_, err = s.Create(t.Context(), snapshot.Run{ID: "claude-alike", Workflow: "claude", Status: snapshot.RunFinished}, snapshot.Draft{})
		require.NoError(t, err)
		_, err = agent.MakeTags(t.Context(), s, "claude-old")
		require.NoError(t, err)
	})
	assert.Len(t, strings.Fields(a.Git("tag", "--list", "replay/claude-old/*")), 2)

	a.now = a.now.Add(29 * day)
	a.hooks("new", "UserPromptSubmit", "SessionEnd")
	a.hooks("working", "UserPromptSubmit")
	done, collected := a.round()
	assert.Equal(t, map[string]string{
		"claude-old": "", "claude-killed": "", "claude-labelled": "has a label", "claude-parent": "was forked", "claude-new": "", "claude-working": "has not ended",
	}, done)
	assert.Empty(t, collected)
	assert.Contains(t, a.Git("log", "-1", "--format=%s", "refs/smithers/_tip/claude-killed"), "no hook for a day")

	a.now = a.now.Add(day)
	a.hooks("working", "Stop")
	done, _ = a.round()
	assert.Equal(t, map[string]string{
		"claude-old": "pruned", "claude-killed": "pruned", "claude-labelled": "has a label", "claude-parent": "was forked", "claude-new": "",
		"claude-working": "has not ended",
	}, done)
	for run, there := range map[string]bool{"claude-old": false, "claude-killed": false, "claude-labelled": true, "claude-alike": true, "fork-of-a-session": true} {
		assert.Equal(t, there, a.exists(run), run)
	}
	assert.Empty(t, a.Git("tag", "--list"), "tags go with their session")

	a.hooks("killed", "UserPromptSubmit") // it goes on
	assert.True(t, a.exists("claude-killed"))
	assert.Equal(t, "1", a.Git("log", "--format=%(trailers:key=Smithers-Frame,valueonly)", "-1", "refs/smithers/_tip/claude-killed")[:1])

	a.now = a.now.Add(7 * day)
	_, collected = a.round()
	assert.Equal(t, []string{"claude-old"}, collected)
	_, collected = a.round()
	assert.Empty(t, collected)
}

func TestNothingGoesWhereSessionsStay(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.Git("config", "smithers.session.keep", "never")
	a.hooks("s", "UserPromptSubmit", "SessionEnd")
	a.now = a.now.Add(1000 * day)
	done, _ := a.round()
	assert.Equal(t, map[string]string{"claude-s": "smithers.session.keep is never"}, done)
	a.Git("config", "smithers.session.keep", "12h")
	done, _ = a.round()
	assert.Equal(t, map[string]string{"claude-s": "pruned"}, done)
}

func TestASessionOfAStrangerGetsNoEntry(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.hooks("s", "UserPromptSubmit")
	a.open(func(s *timeline.Store) { require.NoError(t, agent.NoteForeign(s, "claude-s")) })
	a.now = a.now.Add(2 * day)
	before := a.Git("rev-parse", "refs/smithers/_tip/claude-s")
	done, _ := a.round()
	assert.Equal(t, "has not ended", done["claude-s"])
	assert.Equal(t, before, a.Git("rev-parse", "refs/smithers/_tip/claude-s"))
}

func TestASessionThatOthersHaveStays(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.hooks("s", "UserPromptSubmit", "SessionEnd")
	a.Git("update-ref", "refs/smithers-remote/origin/_tip/claude-s", "refs/smithers/_tip/claude-s")
	a.now = a.now.Add(60 * day)
	done, _ := a.round()
	assert.Equal(t, map[string]string{"claude-s": "is at a remote"}, done)
}

func TestASessionThatSomebodyHasPrunedStaysAway(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.hooks("s", "UserPromptSubmit", "SessionEnd")
	a.open(func(s *timeline.Store) {
		err := retention.Recall(t.Context(), s, "claude-s")
		assert.Equal(t, fault.RunPruned, fault.CodeOf(err))
	})
}

func TestARoundIsDueOnceADay(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	private := filepath.Join(a.Dir, ".git", "smithers")
	assert.True(t, retention.Due(private, time.Now()))
	a.round()
	assert.False(t, retention.Due(private, time.Now()))
	assert.True(t, retention.Due(private, time.Now().Add(day)))
	require.NoError(t, os.WriteFile(filepath.Join(private, "sessions", "retention.json"), []byte("{"), 0o600))
	a.round() // what is no record is like a lost one
}
