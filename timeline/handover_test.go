package timeline_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestWhatIsKeptHereOfARunIsHandedOver(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	from := triage(t, s, "from")
	triage(t, s, "to")
	takeClaim, err := claim.Take(t.Context(), from, claim.Request{})
	require.NoError(t, err)
	require.NoError(t, takeClaim.Release(t.Context()))
	log, err := claim.LiveLogsOf(s, "from").Open("a::0::1", 100)
	require.NoError(t, err)
	_, err = log.Write([]byte("said"))
	require.NoError(t, err)
	require.NoError(t, log.Close())
	spec := files.WorktreeSpec{Name: "a", Path: filepath.Join(filepath.Dir(repo.Dir), "side")}
	made, err := files.OpenWorktree(t.Context(), s, "from", spec, false)
	require.NoError(t, err)

	claim.HandOver(t.Context(), s, "from", "to")
	files.HandOver(s, "from", "to")
	assert.Equal(t, "said", claim.LiveLogsOf(s, "to").Last("a::0::1"))
	assert.Empty(t, claim.LiveLogsOf(s, "from").Last("a::0::1"))
	again, err := files.OpenWorktree(t.Context(), s, "to", spec, false)
	require.NoError(t, err)
	assert.Equal(t, made.Root(), again.Root())
	_, err = files.OpenWorktree(t.Context(), s, "from", spec, false)
	require.Error(t, err, "it is the other run's")

	list, err := claim.FindUnattended(t.Context(), s)
	require.NoError(t, err)
	assert.Equal(t, []claim.UnattendedRun{{Run: "to", Status: snapshot.RunRunning}}, list)
	claim.HandOver(t.Context(), s, "from", "to")
	files.HandOver(s, "from", "to")
	again, err = files.OpenWorktree(t.Context(), s, "to", spec, false)
	require.NoError(t, err)
	assert.Equal(t, made.Root(), again.Root(), "nothing is left to hand over")
}
