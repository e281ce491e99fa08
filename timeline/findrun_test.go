package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/keep"
	"github.com/git-smithers/git-smithers/timeline/travel"
)

func TestAPrefixOfAnIDIsForReading(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	triage(t, s, "triage-10")
	before := repo.Git("for-each-ref")

	id, err := s.ResolveRun(t.Context(), "triage-1")
	require.NoError(t, err)
	assert.Equal(t, "triage-10", id)

	k := keep.New(s, keep.Options{})
	const prefix = "triage-1"
	for name, change := range map[string]func() error{
		"ResolveRunToChange": func() error { _, err := s.ResolveRunToChange(t.Context(), prefix); return err },
		"Travel": func() error {
			_, err := travel.Travel(t.Context(), s, travel.Request{Run: prefix, Node: "n"})
			return err
		},
		"Reset": func() error { _, err := travel.Reset(t.Context(), s, travel.ResetRequest{Run: prefix}); return err },
		"Undo":  func() error { _, err := travel.Undo(t.Context(), s, travel.UndoRequest{Run: prefix}); return err },
		"Restore": func() error {
			_, err := code.Restore(t.Context(), s, code.RestoreRequest{From: prefix + ":1"})
			return err
		},
		"Revert": func() error {
			_, err := code.Revert(t.Context(), s, code.RevertRequest{Run: prefix, Node: "n"})
			return err
		},
		"Seal":   func() error { _, err := timeline.Seal(t.Context(), s, prefix); return err },
		"Unseal": func() error { _, err := timeline.Unseal(t.Context(), s, prefix); return err },
		"PruneWorktrees": func() error {
			_, err := code.PruneWorktrees(t.Context(), s, []string{prefix}, code.PruneOptions{})
			return err
		},
		"Forget": func() error { _, err := k.Forget(t.Context(), keep.Policy{}, false, prefix); return err },
	} {
		var f *fault.Error
		require.ErrorAs(t, change(), &f, name)
		assert.Equal(t, fault.RunNotFound, f.Code, name)
		assert.Equal(t, []string{"type the whole id to change a run: did you mean triage-10?"}, f.Hints, name)
		assert.Equal(t, []string{"triage-10"}, f.Details["runs"], name)
	}
	assert.Equal(t, before, repo.Git("for-each-ref"))
}
