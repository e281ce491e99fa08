package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
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

	k := prune.New(s, prune.Options{})
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
			_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: prefix + ":1"})
			return err
		},
		"Revert": func() error {
			_, err := files.Revert(t.Context(), s, files.RevertRequest{Run: prefix, Node: "n"})
			return err
		},
		"Seal":   func() error { _, err := timeline.Seal(t.Context(), s, prefix); return err },
		"Unseal": func() error { _, err := timeline.Unseal(t.Context(), s, prefix); return err },
		"PruneWorktrees": func() error {
			_, err := files.PruneWorktrees(t.Context(), s, []string{prefix}, files.PruneOptions{})
			return err
		},
		"Forget": func() error { _, err := k.Forget(t.Context(), prune.Policy{}, false, prefix); return err },
	} {
		var f *fault.Error
		require.ErrorAs(t, change(), &f, name)
		assert.Equal(t, fault.RunNotFound, f.Code, name)
		assert.Equal(t, []string{"type the whole id to change a run: did you mean triage-10?"}, f.Hints, name)
		assert.Equal(t, []string{"triage-10"}, f.Details["runs"], name)
	}
	assert.Equal(t, before, repo.Git("for-each-ref"))
}
