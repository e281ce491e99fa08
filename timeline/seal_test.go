package timeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// sealRepo is a repository whose history is written without fsync.
func sealRepo(t *testing.T) *repotest.Repo {
	t.Helper()
	repo := repotest.New(t, repotest.Commit)
	repo.Env = append(repo.Env, "GIT_SMITHERS_FSYNC=0")
	return repo
}

// endedRun makes a run of so many frames that finishes with the last.
func endedRun(t *testing.T, s *timeline.Store, id string, frames int) *timeline.Head {
	t.Helper()
	head, err := s.Create(t.Context(), snapshot.Run{ID: id, Status: snapshot.RunRunning}, snapshot.Draft{})
	require.NoError(t, err)
	for i := 1; i < frames; i++ {
		require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", strconv.Itoa(i))}}}))
	}
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Subject: "finished", Run: func(row *snapshot.Run) {
		row.Status, row.FinishedAtMs = snapshot.RunFinished, new(int64(1_767_400_000_000)+int64(frames))
	}}))
	return head
}

// frameRefs lists the frame refs of a run as git sees them.
func frameRefs(repo *repotest.Repo, run string) []string {
	return strings.Fields(repo.Git("for-each-ref", "--format=%(objectname):%(refname)", "refs/smithers/"+run+"/"))
}

// addressed are the commits of a run's frames, found by number with a store that was just
// opened.
func addressed(t *testing.T, repo *repotest.Repo, run string, frames int) []string {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	var commits []string
	for frame := range frames {
		loaded, err := s.Load(t.Context(), fmt.Sprintf("%s:%d", run, frame))
		require.NoError(t, err)
		assert.Equal(t, int64(frame), loaded.Address.Frame)
		commits = append(commits, loaded.Entry.ID.String())
	}
	require.NoError(t, s.Close())
	return commits
}

func TestEveryFrameOfASealedRunIsWhereItWas(t *testing.T) {
	t.Parallel()
	const frames = 150 // so that the first ones are found by the index
	repo := sealRepo(t)
	s := open(t, repo)
	endedRun(t, s, "run", frames)
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:3", RunID: "fork"})
	require.NoError(t, err)
	before := frameRefs(repo, "run")
	require.Len(t, before, frames)
	commits := addressed(t, repo, "run", frames)
	want, err := list.Timeline(t.Context(), s, "run", list.TreeOptions{})
	require.NoError(t, err)

	sealed, err := timeline.Seal(t.Context(), s, "run")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	assert.Equal(t, []timeline.SealedRun{{RunID: "run", FrameRefs: frames}}, sealed.Runs)
	assert.Empty(t, frameRefs(repo, "run"))
	assert.NotEmpty(t, frameRefs(repo, "fork"))

	assert.Equal(t, commits, addressed(t, repo, "run", frames))
	require.NoError(t, os.RemoveAll(filepath.Join(repo.GitDir, "smithers")))
	require.NoError(t, os.MkdirAll(filepath.Join(repo.GitDir, "smithers", "index.db", "in-the-way"), 0o777))
	assert.Equal(t, commits, addressed(t, repo, "run", frames), "where no index can be made")
	require.NoError(t, os.RemoveAll(filepath.Join(repo.GitDir, "smithers", "index.db")))
	got, err := list.Timeline(t.Context(), open(t, repo), "run", list.TreeOptions{})
	require.NoError(t, err)
	assert.Equal(t, encoded(t, want), encoded(t, got))

	unsealed, err := timeline.Unseal(t.Context(), open(t, repo), "run")
	require.NoError(t, err)
	assert.Equal(t, []timeline.SealedRun{{RunID: "run", FrameRefs: frames}}, unsealed.Runs)
	assert.Equal(t, before, frameRefs(repo, "run"))
}

// Its frame 0 is a commit of its parent.
func TestAForkIsSealedAndUnsealedToo(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	triage(t, s, "run")
	_, err := s.Fork(t.Context(), timeline.ForkRequest{From: "run:2", RunID: "fork"})
	require.NoError(t, err)
	head, err := s.Head(t.Context(), "fork")
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Run: func(row *snapshot.Run) { row.Status = snapshot.RunFailed }}))
	before := frameRefs(repo, "fork")
	require.Len(t, before, 2)

	_, err = timeline.Seal(t.Context(), s, "fork")
	require.NoError(t, err)
	assert.Empty(t, frameRefs(repo, "fork"))
	loaded, err := s.Load(t.Context(), "fork:0")
	require.NoError(t, err)
	parent, err := s.Load(t.Context(), "run:2")
	require.NoError(t, err)
	assert.Equal(t, parent.Entry.ID, loaded.Entry.ID)
	_, err = timeline.Unseal(t.Context(), s, "fork")
	require.NoError(t, err)
	assert.Equal(t, before, frameRefs(repo, "fork"))
}

func TestASealedRunStaysSealedWhateverReadsIt(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	endedRun(t, s, "run", 5)
	_, err := timeline.Seal(t.Context(), s)
	require.NoError(t, err)
	for _, read := range []func(*timeline.Store) error{
		func(s *timeline.Store) error { _, err := s.Load(t.Context(), "run"); return err },
		func(s *timeline.Store) error { _, err := s.Load(t.Context(), "run:4"); return err },
		func(s *timeline.Store) error { _, err := s.Head(t.Context(), "run"); return err },
		func(s *timeline.Store) error { _, err := verify.Runs(t.Context(), s); return err },
		func(s *timeline.Store) error { _, err := list.Runs(t.Context(), s); return err },
	} {
		require.NoError(t, read(open(t, repo)))
		assert.Empty(t, frameRefs(repo, "run"))
	}
	again, err := timeline.Seal(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, &timeline.SealResult{Runs: []timeline.SealedRun{}}, again, "nothing is left to do")
}

// A crash between the tip and the ref of a frame that ends a run.
func TestTheLastFramesRefOfARunThatEndedIsMadeAgain(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	endedRun(t, open(t, repo), "run", 5)
	before := frameRefs(repo, "run")
	repo.Git("update-ref", "-d", "refs/smithers/run/4")
	_, err := open(t, repo).Load(t.Context(), "run")
	require.NoError(t, err)
	assert.Equal(t, before, frameRefs(repo, "run"))
}

func TestASealedRunGoesOn(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	endedRun(t, s, "other", 3)
	_, err := timeline.Seal(t.Context(), s)
	require.NoError(t, err)
	head, err := s.Head(t.Context(), "other")
	require.NoError(t, err)
	running := func(row *snapshot.Run) { row.Status, row.FinishedAtMs = snapshot.RunRunning, nil }
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}, Run: running}))
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}}))
	assert.Len(t, frameRefs(repo, "other"), 2, "frames that are made have refs")
	commits := addressed(t, repo, "other", 5)
	_, err = timeline.Unseal(t.Context(), s, "other")
	require.NoError(t, err)
	assert.Len(t, frameRefs(repo, "other"), 5)
	assert.Equal(t, commits, addressed(t, repo, "other", 5))
}

func TestSealingAllSealsWhatHasEnded(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	endedRun(t, s, "one", 3)
	triage(t, s, "goes-on")
	endedRun(t, s, "two", 4)
	sealed, err := timeline.Seal(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []timeline.SealedRun{{RunID: "one", FrameRefs: 3}, {RunID: "two", FrameRefs: 4}}, sealed.Runs)
	assert.Len(t, frameRefs(repo, "goes-on"), 5)

	sealed, err = timeline.Seal(t.Context(), s, "goes-on", "goes-on", "one")
	require.NoError(t, err)
	assert.Equal(t, []timeline.SealedRun{{RunID: "goes-on", FrameRefs: 4}, {RunID: "one", FrameRefs: 0}}, sealed.Runs)
	assert.Len(t, frameRefs(repo, "goes-on"), 1, "a run that goes on keeps its newest frame's")
}

func TestARunThatALiveProcessOwnsIsNotSealed(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	head := endedRun(t, s, "run", 3)
	takeClaim, err := claim.Take(t.Context(), head, claim.Request{})
	require.NoError(t, err)
	_, err = timeline.Seal(t.Context(), s, "run")
	assert.Equal(t, fault.RunOwned, fault.CodeOf(err))
	all, err := timeline.Seal(t.Context(), s)
	require.NoError(t, err)
	assert.Empty(t, all.Runs)
	assert.Len(t, frameRefs(repo, "run"), 3)
	require.NoError(t, takeClaim.Release(t.Context()))
}

// It may be all that is left of something: verify names it.
func TestAFrameRefThatIsNotPartOfItsRunSurvivesSealing(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	s := open(t, repo)
	endedRun(t, s, "run", 3)
	stray := repo.Git("rev-parse", "HEAD")
	repo.Git("update-ref", "refs/smithers/run/9", stray)
	_, err := timeline.Seal(t.Context(), s, "run")
	require.NoError(t, err)
	assert.Equal(t, []string{stray + ":refs/smithers/run/9"}, frameRefs(repo, "run"))
	repo.Git("update-ref", "-d", "refs/smithers/run/9")
}

func TestSealingThatStoppedHalfWayIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	endedRun(t, open(t, repo), "run", 5)
	stop := errors.New("stopped")
	for _, point := range []string{"merge-after-rename", "merge-between-removes", refs.FailRefsLocked} {
		failing, err := timeline.Open(t.Context(), timeline.Options{
			Dir: repo.Dir, Env: repo.Env, Now: clock(),
			Failpoint: func(name string) error {
				if name == point {
					return stop
				}
				return nil
			},
		})
		require.NoError(t, err)
		_, err = timeline.Seal(t.Context(), failing)
		require.ErrorIs(t, err, stop, point)
		require.NoError(t, failing.Close())
		assert.Len(t, frameRefs(repo, "run"), 5, point)
		assert.Len(t, addressed(t, repo, "run", 5), 5)
	}
	sealed, err := timeline.Seal(t.Context(), open(t, repo))
	require.NoError(t, err)
	assert.Equal(t, []timeline.SealedRun{{RunID: "run", FrameRefs: 5}}, sealed.Runs)
}

func TestUnsealingWantsRunsThatExist(t *testing.T) {
	t.Parallel()
	s := open(t, sealRepo(t))
	_, err := timeline.Unseal(t.Context(), s, "nobody")
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
	_, err = timeline.Seal(t.Context(), s, "nobody")
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
}

// encoded returns v as scripts see it.
func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
