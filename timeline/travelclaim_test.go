package timeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// meddling opens a store that calls meddle when it has moved refs for the nth time: the
// first is for a claim, the second for the frame that keeps the files.
func meddling(t *testing.T, repo *repotest.Repo, point string, nth int, meddle func() error) *timeline.Store {
	t.Helper()
	times := 0
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name != point {
				return nil
			}
			if times++; times == nth {
				return meddle()
			}
			return nil
		},
		Warn: func(err error) { t.Logf("warning: %v", err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestATravelWhoseRunIsTakenOverMeanwhileWritesNothingMore(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	other := open(t, repo)
	worked(t, other, repo)
	tip := ""
	s := meddling(t, repo, "refs-done", 2, func() error {
		head, err := other.Head(t.Context(), "run")
		if err != nil {
			return err
		}
		takeClaim(t, head, claim.Request{Force: true})
		tip = head.Entry().ID.String()
		return nil
	})
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	require.NotEmpty(t, tip)
	assert.Equal(t, tip, repo.Git("rev-parse", "refs/smithers/_tip/run"))
	assert.Equal(t, stateAt(t, other, "run:6").ID(), stateAt(t, other, "run").ID())
}

// Whoever appends a frame while the travel is being planned may have made another one.
func TestATravelGivesWayToWhoeverAppendsAFrameFirst(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	other := open(t, repo)
	_, _, files := worked(t, other, repo)
	tip := ""
	s := meddling(t, repo, "before-refs", 1, func() error {
		head, err := other.Head(t.Context(), "run")
		if err != nil {
			return err
		}
		if err := head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Subject: "somebody else's"}); err != nil {
			return err
		}
		tip = head.Entry().ID.String()
		return nil
	})
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "b"})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	require.NotEmpty(t, tip)
	assert.Equal(t, tip, repo.Git("rev-parse", "refs/smithers/_tip/run"))
	assert.Equal(t, files, filesIn(t, repo.Dir))
	requireUnclaimed(t, repo)
}

// The files of several working copies are restored, or those of none.
func TestWhereOneWorkingCopyCannotBeRestoredTheOthersAreAsTheyWere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	plain := open(t, repo)
	p := newPlay(t, plain, "run", files.WorkingCopyOf(plain), "a")
	own, err := files.OpenWorktree(t.Context(), plain, "run", files.WorktreeSpec{Name: "a"}, false)
	require.NoError(t, err)
	text := filepath.Join(own.Root(), "work.txt")
	require.NoError(t, os.WriteFile(text, []byte("first\n"), 0o666))
	draft, mine := shot(t, files.WorkingCopyOf(plain), "ready"), shot(t, own, "")
	draft.VCS.Worktrees = []snapshot.Worktree{{Name: "a", VCS: *mine.VCS}}
	draft.Objects = mine.Objects
	require.NoError(t, p.head.Append(t.Context(), draft))
	require.NoError(t, p.head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Journal: []snapshot.Change{p.starts("a::0::1")[1]}}))
	repo.Write("README.md", "# Mine\n")
	require.NoError(t, os.WriteFile(text, []byte("second\n"), 0o666))
	files := filesIn(t, repo.Dir)
	s := meddling(t, repo, "refs-done", 2, func() error { return os.WriteFile(text, []byte("at the worst moment\n"), 0o666) })

	_, err = travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a"})
	assert.Equal(t, fault.RestoreRefused, fault.CodeOf(err), "%v", err)
	assert.Equal(t, files, filesIn(t, repo.Dir))
	data, err := os.ReadFile(text)
	require.NoError(t, err)
	assert.Equal(t, "at the worst moment\n", string(data))
	kinds, _ := eventsOf(t, repo, "run")
	assert.Equal(t, []string{"TimeTravelStarted", "TimeTravelFinished"}, kinds)
}

// The process of another clone may be executing the run, so whoever goes back in it would have its tasks run twice.
func TestNobodyGoesBackInARunThatAnotherCloneHasClaimed(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(s *timeline.Store, force bool) (*travel.Result, error){
		"travel": func(s *timeline.Store, force bool) (*travel.Result, error) {
			return travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "a", NoFiles: true, Force: force})
		},
		"travel to a frame": func(s *timeline.Store, force bool) (*travel.Result, error) {
			return travel.Travel(t.Context(), s, travel.Request{Run: "run:2", NoFiles: true, Force: force})
		},
		"reset": func(s *timeline.Store, force bool) (*travel.Result, error) {
			return travel.Reset(t.Context(), s, travel.ResetRequest{Run: "run", Force: force})
		},
		"undo": func(s *timeline.Store, force bool) (*travel.Result, error) {
			return travel.Undo(t.Context(), s, travel.UndoRequest{Run: "run", Force: force})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, force := range []bool{false, true} {
				repo, w := repotest.New(t, repotest.Commit), newWatch()
				s := openWith(t, repo, w.now)
				threeInARow(t, s, nil)
				travelTo(t, s, "run", "b::0::1")
				require.NoError(t, headOf(t, s, "run").Append(t.Context(), snapshot.Draft{Run: func(row *snapshot.Run) {
					row.Status, row.Owner, row.Epoch = snapshot.RunRunning, "0123456789abcdef", row.Epoch+1
				}}))
				tip := repo.Git("rev-parse", "refs/smithers/_tip/run")
				w.pass(time.Hour - time.Second)
				if !force {
					_, err := back(s, false)
					refusal, _ := errors.AsType[*fault.Error](err)
					require.Equal(t, fault.RunOwned, fault.CodeOf(err), "%v", err)
					assert.Contains(t, strings.Join(refusal.Hints, "\n"), "--force")
					assert.Equal(t, tip, repo.Git("rev-parse", "refs/smithers/_tip/run"))
					requireUnclaimed(t, repo)
					w.pass(time.Second)
				}
				_, err := back(s, force)
				require.NoError(t, err, "by force, or after the lease")
				assert.Empty(t, rowAt(t, s, "run").Owner, "whoever resumes it here is not refused")
			}
		})
	}
}
