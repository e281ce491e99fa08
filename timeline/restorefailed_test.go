package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestARestoreThatCameOnlyHalfWaySaysWhereTheFilesAreThatWereThere(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	repo.Git("config", "filter.half.clean", "cat")
	// It writes the file aside, as a restore does first, and then no more.
	repo.Git("config", "filter.half.smudge", "test ! -e \"$GIT_DIR/smudged\" && touch \"$GIT_DIR/smudged\" && cat")
	repo.Git("config", "filter.half.required", "true")
	repo.Write(".gitattributes", "*.half filter=half\n")
	repo.Write("a.half", "then\n")
	s := open(t, repo)
	startRun(t, s, "run")
	repo.Write("a.half", "now\n")

	_, err := files.Restore(t.Context(), s, files.RestoreRequest{From: "run:0"})
	require.Equal(t, fault.GitFailed, fault.CodeOf(err))
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	assert.Contains(t, f.Hints[len(f.Hints)-1], "`git smithers restore run:1` restores the earlier files")
	assert.NotContains(t, f.Hints[0], "deprecated")

	repo.Git("config", "filter.half.smudge", "cat")
	_, err = files.Restore(t.Context(), s, files.RestoreRequest{From: "run:1"})
	require.NoError(t, err)
	assert.Contains(t, filesIn(t, repo.Dir)["a.half"], "now\n")
}
