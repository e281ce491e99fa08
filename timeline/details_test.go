package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestDetailsOfARunThatCannotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	broken := repo.Git("rev-parse", "HEAD") // the commit of no run
	var warnings []error
	s, err := timeline.Open(t.Context(), timeline.Options{
		Dir: repo.Dir, Env: repo.Env, Now: clock(), Warn: func(err error) { warnings = append(warnings, err) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	triage(t, s, "good")
	repo.Git("update-ref", "refs/smithers/_tip/bad", broken)

	index, err := s.Details(t.Context(), "good")
	require.NoError(t, err)
	answer, err := index.Query(t.Context(), "SELECT count(*) FROM _smithers_nodes")
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(3)}}, answer.Rows)
	assert.Empty(t, warnings)

	_, err = s.Details(t.Context(), "bad")
	assert.Equal(t, fault.CorruptObject, fault.CodeOf(err))

	_, err = s.Details(t.Context())
	require.NoError(t, err, "of all runs, it is left out")
	require.Len(t, warnings, 1)
	assert.ErrorContains(t, warnings[0], "left out: run bad")
}
