package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestVerifyReadsWhatOtherEnginesKeepAndDoesNotJudgeIt(t *testing.T) {
	t.Parallel()
	repo := repotest.New(t)
	s := open(t, repo)
	head := running(t, s, "run")
	require.NoError(t, head.Append(t.Context(), snapshot.Draft{Ext: &snapshot.ExtDraft{
		Engine: "peer", Files: map[string][]byte{"layout": []byte("not JSON")},
		Rows: map[string][]page.Change{"frames": {{Key: "no number", Value: []byte("1")}}},
	}}))
	require.NoError(t, s.Close())
	loosen(t, repo)
	require.Empty(t, problems(t, repo))

	removeObject(t, repo, "refs/smithers/_tip/run:ext/peer/layout")
	repo.Damaged()
	found := problems(t, repo)
	require.Len(t, found, 1)
	assert.Equal(t, fault.MissingObject, found[0].Code)
	assert.Contains(t, found[0].What, `ext: "peer/layout"`)
}
