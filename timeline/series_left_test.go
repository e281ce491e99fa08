package timeline_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// leftSeries makes the ended run "run" of four frames by a series that moves the tip and its newest frame's ref, and
// no other.
func leftSeries(t *testing.T, repo *repotest.Repo) {
	t.Helper()
	transactions := 0
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(),
		Failpoint: func(name string) error {
			if name == "refs-locked" {
				transactions++
			}
			if transactions > 1 {
				return errors.New("stopped")
			}
			return nil
		},
	})
	require.NoError(t, err)
	series := newSeries(t, s)
	addFrames(t, series, 0, 2)
	ended := seriesFrame(3)
	ended.Run = func(row *snapshot.Run) { row.Status, row.FinishedAtMs = snapshot.RunFinished, new(int64(2000)) }
	_, err = series.Append(t.Context(), ended)
	require.NoError(t, err)
	_, err = series.Commit(t.Context())
	require.NoError(t, err)
	series.Close()
	require.NoError(t, s.Close())
	require.Len(t, frameRefs(repo, "run"), 1)
}

func TestFrameRefsThatASeriesLeftOutAreMade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, repo *repotest.Repo, s *timeline.Store)
		want      int
	}{
		"by whoever opens the run": {func(*testing.T, *repotest.Repo, *timeline.Store) {}, 4},
		"also the newest, of a run that has ended": {func(_ *testing.T, repo *repotest.Repo, _ *timeline.Store) {
			repo.Git("update-ref", "-d", "refs/smithers/run/3")
		}, 4},
		"but not in a run that was sealed since": {func(t *testing.T, _ *repotest.Repo, s *timeline.Store) {
			t.Helper()
			_, err := timeline.Seal(t.Context(), s, "run")
			require.NoError(t, err)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := sealRepo(t)
			leftSeries(t, repo)
			s := open(t, repo)
			c.meanwhile(t, repo, s)
			_, err := s.Head(t.Context(), "run")
			require.NoError(t, err)
			assert.Len(t, frameRefs(repo, "run"), c.want)
		})
	}
}

func TestFrameRefsThatASeriesLeftOutAreNoMoreThanAllowed(t *testing.T) {
	t.Parallel()
	repo := sealRepo(t)
	leftSeries(t, repo)
	repo.Git("config", "smithers.frameRefs", "3")
	_, err := open(t, repo).Head(t.Context(), "run")
	require.NoError(t, err)
	assert.Len(t, frameRefs(repo, "run"), 3)
}
