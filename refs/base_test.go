package refs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

func TestTheBaseMovesByCompareAndSwapAndIsNoRun(t *testing.T) {
	t.Parallel()
	for name, native := range map[string]bool{"auto": false, "native": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repotest.New(t, repotest.Commit)
			db := refstest.Open(t, repo, func(o *refs.Options) { o.NativeOnly = native })
			one, err := objstore.ParseID(repo.Git("rev-parse", "HEAD"))
			require.NoError(t, err)
			repo.Git("commit", "--quiet", "--allow-empty", "--message=second")
			two, err := objstore.ParseID(repo.Git("rev-parse", "HEAD"))
			require.NoError(t, err)

			_, err = db.Resolve(t.Context(), refs.Base)
			require.ErrorIs(t, err, refs.ErrNotFound)
			require.NoError(t, db.Apply(t.Context(), refs.Update{Name: refs.Base, New: one}))
			assert.Equal(t, one.String(), repo.Git("rev-parse", "refs/smithers/_base"))
			require.ErrorIs(t, db.Apply(t.Context(), refs.Update{Name: refs.Base, New: two}), refs.ErrConflict)
			require.NoError(t, db.Apply(t.Context(), refs.Update{Name: refs.Base, Old: one, New: two}))
			repo.Git("pack-refs", "--all")
			got, err := db.Resolve(t.Context(), refs.Base)
			require.NoError(t, err)
			assert.Equal(t, two, got)

			tips, err := db.Tips(t.Context())
			require.NoError(t, err)
			assert.Empty(t, tips)
			_, _, err = refs.Base.Split()
			assert.ErrorIs(t, err, refs.ErrMalformed, "it is neither a tip nor a frame")
			tip, err := refs.Tip("_base")
			require.NoError(t, err)
			assert.Equal(t, refs.Name("refs/smithers/_tip/%5fbase"), tip, "a run of that name has another one")
		})
	}
}
