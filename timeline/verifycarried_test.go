package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAForkCarriesACollectionOfANewerVersion(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	running(t, s, "run")
	f := forger{repo, t, "run"}
	rows := f.GitInput("100644 blob "+blob(repo, "not JSON")+"\tpage\n", "mktree")
	f.append("040000", "tree", f.GitInput("040000 tree "+rows+"\tprobes\n", "mktree"), "journal", nil)
	head, err := s.Head(t.Context(), "run")
	require.NoError(t, err)
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Frame: &snapshot.FrameDraft{
		State: []snapshot.Change{node(t, "a", snapshot.NodePending)},
	}}))

	_, err = s.Fork(t.Context(), timeline.ForkRequest{From: "run:1", RunID: "child"})

	require.NoError(t, err)
	assert.Equal(t, rows, repo.Git("rev-parse", "refs/smithers/_tip/child:journal/probes"))
	assert.NotEmpty(t, repo.Git("rev-parse", "refs/smithers/_tip/child:journal/ops"), "the fork's own ops are beside the collection")
	require.NoError(t, s.Close())
	loosen(t, repo)
	require.Empty(t, problems(t, repo))

	removeObject(t, repo, "refs/smithers/_tip/child:journal/probes/page")
	repo.Damaged()
	byRun := make(map[string]fault.Code)
	for _, p := range problems(t, repo) {
		byRun[p.Run] = p.Code
		assert.Contains(t, p.What, `journal/probes: "page"`)
	}
	assert.Equal(t, map[string]fault.Code{"run": fault.MissingObject, "child": fault.MissingObject}, byRun)
}
