package report_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/report"
	"github.com/git-smithers/git-smithers/internal/redact"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// open opens the history of a repository, with variables in the environment.
func open(t *testing.T, repo *repotest.Repo, env ...string) *timeline.Store {
	t.Helper()
	store, err := timeline.Open(context.Background(), timeline.Options{
		Dir: repo.Dir, Env: slices.Concat(repo.Env, []string{"GIT_SMITHERS_FSYNC=0"}, env), Now: time.Now,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

// An imported run keeps its secrets, and says so. Another clone may not know their form.
func TestARunWithASecretThatNobodyHereKnowsIsRefused(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery-9"
	repo := repotest.New(t, repotest.Commit)
	theirs, ours := open(t, repo, "THEIR_TOKEN="+secret), open(t, repo)
	record := func(run string, draft snapshot.Draft) {
		t.Helper()
		series, err := timeline.NewSeries(t.Context(), theirs, snapshot.Run{ID: run, Workflow: "flow", Status: snapshot.RunFinished}, nil)
		require.NoError(t, err)
		defer series.Close()
		_, err = series.Append(t.Context(), draft)
		require.NoError(t, err)
		_, err = series.Commit(t.Context())
		require.NoError(t, err)
	}
	record("shown", snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: []byte(`"` + secret + `"`)},
	}}})
	record("hidden", snapshot.Draft{Workflow: &snapshot.Workflow{Definition: []byte(secret)}})
	record("data", snapshot.Draft{Ext: &snapshot.ExtDraft{Engine: "e", Files: map[string][]byte{"f": []byte(secret)}}})
	collect := func(store *timeline.Store, run string, allow ...string) error {
		_, err := report.Collect(t.Context(), store, report.Request{Runs: []string{run}, Allow: allow}, time.Now())
		return err
	}
	err := collect(ours, "shown")
	assert.Equal(t, fault.SecretsFound, fault.CodeOf(err))
	assert.ErrorContains(t, err, "THEIR_TOKEN")
	require.NoError(t, collect(ours, "shown", redact.Digest([]byte(secret))))
	require.NoError(t, collect(ours, "hidden"))
	require.NoError(t, collect(ours, "data"))
	require.NoError(t, collect(theirs, "shown"), "a clone that knows the secret replaces it")
}

func TestAReportHasABoundedNumberOfRuns(t *testing.T) {
	t.Parallel()
	store := open(t, repotest.New(t, repotest.Commit))
	for _, runs := range [][]string{nil, strings.Split(strings.Repeat("a,", report.MaxRuns)+"a", ",")} {
		_, err := report.Collect(t.Context(), store, report.Request{Runs: runs}, time.Now())
		assert.Equal(t, fault.Usage, fault.CodeOf(err))
	}
}
