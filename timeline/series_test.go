package timeline_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// seriesRow is the row of the run "run" that a series makes.
func seriesRow(id string) snapshot.Run {
	return snapshot.Run{ID: id, Workflow: "peer", Status: snapshot.RunRunning, CreatedAtMs: 1}
}

// newSeries begins the run "run", to be closed when the test ends.
func newSeries(t testing.TB, s *timeline.Store) *timeline.Series {
	t.Helper()
	series, err := timeline.NewSeries(context.Background(), s, seriesRow("run"), nil)
	require.NoError(t, err)
	t.Cleanup(series.Close)
	return series
}

// addFrames appends frames from one number to another, each with an output of its own.
func addFrames(t testing.TB, series *timeline.Series, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		_, err := series.Append(context.Background(), seriesFrame(i))
		require.NoError(t, err)
	}
}

func seriesFrame(i int) snapshot.Draft {
	return snapshot.Draft{
		Frame: &snapshot.FrameDraft{Silent: true, State: []snapshot.Change{output(fmt.Sprintf("n%d", i), strconv.Itoa(i))}},
		AtMs:  int64(1000 + i), Subject: fmt.Sprintf("frame %d", i),
	}
}

// refsIn lists what the repository has under refs/smithers.
func refsIn(repo *repotest.Repo) string {
	return repo.Git("for-each-ref", "--format=%(refname)", "refs/smithers")
}

func TestNobodySeesASeriesBeforeItsLastEntry(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	series := newSeries(t, s)
	addFrames(t, series, 0, 3)
	assert.Empty(t, refsIn(repo))
	_, err := s.Load(t.Context(), "run")
	assert.Equal(t, fault.RunNotFound, fault.CodeOf(err))
	entry := series.Entry()
	state, err := entry.State()
	require.NoError(t, err)
	assert.Equal(t, 4, state.Outputs("results").Len(), "but whoever writes it can read it")

	head, err := series.Commit(t.Context())
	require.NoError(t, err)
	assert.Equal(t, entry.ID, head.Entry().ID)
	assert.Equal(t, "refs/smithers/_tip/run\nrefs/smithers/run/0\nrefs/smithers/run/1\nrefs/smithers/run/2\nrefs/smithers/run/3", refsIn(repo))
	for i := range 4 {
		loaded, err := s.Load(t.Context(), fmt.Sprintf("run:%d", i))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("frame %d", i), loaded.Entry.Subject)
		assert.Equal(t, loaded.Entry.ID.String(), repo.Git("rev-parse", fmt.Sprintf("refs/smithers/run/%d", i)))
	}
}

func TestASeriesIsOnePack(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	series := newSeries(t, s)
	addFrames(t, series, 0, 30)
	_, err := series.Commit(t.Context())
	require.NoError(t, err)
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*.pack"))
	require.NoError(t, err)
	assert.Len(t, packs, 1)
}

func TestASeriesGoesOnFromATip(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	series := newSeries(t, s)
	addFrames(t, series, 0, 1)
	head, err := series.Commit(t.Context())
	require.NoError(t, err)

	next := timeline.SeriesOf(head)
	defer next.Close()
	addFrames(t, next, 2, 3)
	_, err = next.Append(t.Context(), snapshot.Draft{
		AtMs: 1004, Subject: "ended", Run: func(row *snapshot.Run) { row.Status = snapshot.RunFinished },
	})
	require.NoError(t, err)
	_, err = next.Commit(t.Context())
	require.NoError(t, err)
	assert.Equal(t, next.Entry().ID, head.Entry().ID, "the head knows")
	assert.Equal(t, snapshot.RunFinished, head.Row().Status)
	assert.EqualValues(t, 3, head.Row().Frame)
	addFrames(t, series, 2, 2)
	_, err = series.Commit(t.Context())
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "what followed the tip of before is refused: %v", err)
}

func TestASeriesAndWhatAppendsOneByOneAreTheSame(t *testing.T) {
	t.Parallel()
	one, other := repotest.New(t, repotest.Commit), repotest.New(t, repotest.Commit)
	series := newSeries(t, open(t, one))
	addFrames(t, series, 0, 2)
	together, err := series.Commit(t.Context())
	require.NoError(t, err)
	single, err := open(t, other).Create(t.Context(), seriesRow("run"), seriesFrame(0))
	require.NoError(t, err)
	for i := 1; i <= 2; i++ {
		require.NoError(t, single.Append(t.Context(), seriesFrame(i)))
	}
	assert.Equal(t, single.Entry().ID, together.Entry().ID)
	assert.Equal(t, other.Git("for-each-ref", "refs/smithers"), one.Git("for-each-ref", "refs/smithers"))
}

func TestASilentFrameDoesNotAnnounceItself(t *testing.T) {
	t.Parallel()
	series := newSeries(t, open(t, repotest.New(t, repotest.Commit)))
	silent, err := series.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	require.NoError(t, err)
	loud, err := series.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	require.NoError(t, err)
	events, err := silent.Events()
	require.NoError(t, err)
	assert.Empty(t, events)
	events, err = loud.Events()
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, "SnapshotCaptured", events[0].Type)
}

func TestASeriesForks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		first snapshot.Draft
		zero  string // what frame 0 is
	}{
		{"with a frame of its own", snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", "9")}}, Subject: "forked"}, "forked"},
		{"as the parent is", snapshot.Draft{Subject: "forked"}, "frame 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			s := open(t, repo)
			series := newSeries(t, s)
			addFrames(t, series, 0, 2)
			_, err := series.Commit(t.Context())
			require.NoError(t, err)
			from, err := s.Load(t.Context(), "run:1")
			require.NoError(t, err)

			row := seriesRow("child")
			row.Parent = &snapshot.Parent{RunID: "run", Frame: 1, Commit: from.Entry.ID, AtMs: 5}
			fork, err := timeline.NewSeries(t.Context(), s, row, from.Entry)
			require.NoError(t, err)
			defer fork.Close()
			_, err = fork.Append(t.Context(), tc.first)
			require.NoError(t, err)
			addFrames(t, fork, 3, 4)
			head, err := fork.Commit(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 2, head.Row().Frame)
			assert.Equal(t, tc.zero, repo.Git("log", "-1", "--format=%s", "refs/smithers/child/0"))
			assert.Equal(t, "frame 4", repo.Git("log", "-1", "--format=%s", "refs/smithers/child/2"))
			branches, err := list.Branches(t.Context(), s, "run")
			require.NoError(t, err)
			require.Len(t, branches, 1)
			assert.Equal(t, "child", branches[0].RunID)
		})
	}
}

func TestASeriesThatIsClosedWasNeverThere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	series := newSeries(t, s)
	addFrames(t, series, 0, 2)
	series.Close()
	series.Close()
	assert.Empty(t, refsIn(repo))
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*"))
	require.NoError(t, err)
	assert.Empty(t, packs)
}

func TestASeriesWithoutEntriesMovesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	_, err := newSeries(t, s).Commit(t.Context())
	require.NoError(t, err)
	assert.Empty(t, refsIn(repo))
	head := running(t, s, "run")
	before := repo.Git("for-each-ref", "refs/smithers")
	series := timeline.SeriesOf(head)
	defer series.Close()
	_, err = series.Commit(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before, repo.Git("for-each-ref", "refs/smithers"))
}

func TestASeriesWhoseTipHasMovedChangesNothing(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	head := running(t, s, "run")
	series := timeline.SeriesOf(head)
	defer series.Close()
	addFrames(t, series, 1, 3)
	other := headOf(t, open(t, repo), "run")
	require.NoError(t, other.Append(t.Context(), snapshot.Draft{Subject: "of another"}))
	before := repo.Git("for-each-ref", "refs/smithers")
	_, err := series.Commit(t.Context())
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	assert.Equal(t, before, repo.Git("for-each-ref", "refs/smithers"))
}

func TestARunThatIsThereOrWasPrunedIsNotMadeBySeries(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	late := newSeries(t, s)
	addFrames(t, late, 0, 1)
	running(t, s, "run")
	_, err := timeline.NewSeries(t.Context(), s, seriesRow("run"), nil)
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "%v", err)
	_, err = late.Commit(t.Context())
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "nor one that was made meanwhile: %v", err)
	_, err = timeline.NewSeries(t.Context(), s, seriesRow(strings.Repeat("x", 5000)), nil)
	assert.Equal(t, fault.InvalidRunID, fault.CodeOf(err), "%v", err)
}

func TestASeriesMakesTheNewestFrameRefsThatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "smithers.frameRefs", "3")
	s := open(t, repo)
	series := newSeries(t, s)
	addFrames(t, series, 0, 9)
	_, err := series.Commit(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "refs/smithers/_tip/run\nrefs/smithers/run/7\nrefs/smithers/run/8\nrefs/smithers/run/9", refsIn(repo))
	loaded, err := s.Load(t.Context(), "run:2")
	require.NoError(t, err)
	assert.Equal(t, "frame 2", loaded.Entry.Subject, "the others are found all the same")
}

func TestADraftThatCannotBeAppendedLeavesTheSeriesAsItWas(t *testing.T) {
	t.Parallel()
	series := newSeries(t, open(t, repotest.New(t, repotest.Commit)))
	addFrames(t, series, 0, 1)
	before := series.Entry().ID
	_, err := series.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{output("n", "{")}}})
	require.Error(t, err)
	assert.Equal(t, before, series.Entry().ID)
	addFrames(t, series, 2, 2)
	head, err := series.Commit(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2, head.Row().Frame)
}

func TestASeriesThatGotInAlthoughWritingItFailedIsThere(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"between-renames", "refs-done"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			on := false
			s := openFaulty(t, repo, point, &on)
			series := newSeries(t, s)
			addFrames(t, series, 0, 3)
			on = true
			head, err := series.Commit(t.Context())
			on = false
			require.NoError(t, err)
			assert.EqualValues(t, 3, head.Row().Frame)
			assert.Equal(t, "4", repo.Git("rev-list", "--count", "refs/smithers/_tip/run"))
			requireHealthy(t, repo)
		})
	}
}

// A git gc that runs between the packs of a series must not take away what no ref reaches yet.
func TestALargeSeriesIsSeveralPacksThatGitLeavesAlone(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	series := newSeries(t, s)
	series.FlushAt(1)
	addFrames(t, series, 0, 9)
	packs, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*.pack"))
	require.NoError(t, err)
	assert.Len(t, packs, 9, "the newest entry is in memory")
	assert.Empty(t, refsIn(repo))
	repo.Git("gc", "--quiet", "--prune=now")
	addFrames(t, series, 10, 12)
	head, err := series.Commit(t.Context())
	require.NoError(t, err)
	series.Close()
	assert.Equal(t, 13, head.State().Outputs("results").Len())
	kept, err := filepath.Glob(filepath.Join(repo.GitDir, "objects/pack/*.keep"))
	require.NoError(t, err)
	assert.Empty(t, kept)
	requireHealthy(t, repo)
	repo.Git("gc", "--quiet", "--prune=now")
	requireHealthy(t, repo)
}

func TestASeriesHasNoClock(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	entry, err := newSeries(t, s).Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{}})
	require.NoError(t, err)
	assert.Zero(t, entry.AtMs, "0 is a time")
}
