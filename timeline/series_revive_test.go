package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// stone writes the tombstone of a run, as plain git would.
func stone(repo *repotest.Repo, run string) {
	repo.Git("update-ref", "refs/smithers/_gone/"+run, repo.Git("commit-tree", "-m", "run pruned", repo.GitInput("", "mktree")))
}

func TestATombstoneGoesWithTheCommitThatMakesTheRunAgain(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	stone(repo, "run")
	_, err := timeline.NewSeries(t.Context(), s, seriesRow("run"), nil)
	assert.Equal(t, fault.RunPruned, fault.CodeOf(err), "%v", err)

	series, err := timeline.ReviveSeries(t.Context(), s, seriesRow("run"), nil)
	require.NoError(t, err)
	defer series.Close()
	addFrames(t, series, 0, 2)
	assert.Equal(t, "refs/smithers/_gone/run", refsIn(repo), "until it is committed, the run is pruned")
	_, err = series.Commit(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "refs/smithers/_tip/run\nrefs/smithers/run/0\nrefs/smithers/run/1\nrefs/smithers/run/2", refsIn(repo))

	addFrames(t, series, 3, 3)
	_, err = series.Commit(t.Context())
	require.NoError(t, err, "the tombstone is taken away once")
}

func TestARunWhoseTombstoneMovedMeanwhileIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	stone(repo, "run")
	series, err := timeline.ReviveSeries(t.Context(), s, seriesRow("run"), nil)
	require.NoError(t, err)
	defer series.Close()
	addFrames(t, series, 0, 2)
	repo.Git("update-ref", "-d", "refs/smithers/_gone/run")
	_, err = series.Commit(t.Context())
	require.Error(t, err)
	assert.Empty(t, refsIn(repo))
}

func TestARunThatWasNeverPrunedIsMadeByRevivingIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	series, err := timeline.ReviveSeries(t.Context(), s, seriesRow("run"), nil)
	require.NoError(t, err)
	defer series.Close()
	addFrames(t, series, 0, 1)
	_, err = series.Commit(t.Context())
	require.NoError(t, err)
	_, err = timeline.ReviveSeries(t.Context(), s, seriesRow("run"), nil)
	assert.Equal(t, fault.RunExists, fault.CodeOf(err), "%v", err)
}
