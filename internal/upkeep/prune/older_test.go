package prune_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
)

func TestADropOfOlderRunsThatIsCutOffLosesNoRef(t *testing.T) {
	t.Parallel()
	bundle, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "repositories", "format-1.bundle"))
	require.NoError(t, err)
	drop := func(k *prune.Keeper) error {
		_, err := k.DropOlder(t.Context(), false)
		return err
	}
	undo := func(k *prune.Keeper) error {
		_, err := k.UndoDrop(t.Context(), false)
		return err
	}
	for n := 1; ; n += 9 {
		o := &orchard{Repo: repotest.New(t), t: t, clock: ticking()}
		o.Git("fetch", "--quiet", bundle, "refs/smithers/*:refs/smithers/*")
		before := o.ourRefs()
		ids := strings.Fields(o.Git("for-each-ref", "--format=%(objectname)"))
		point := o.dieAt(n, drop)
		left := o.Git("for-each-ref", "--format=%(objectname)")
		for _, id := range ids {
			require.Contains(t, left, id, "died at %d, %s", n, point)
		}
		require.NoError(t, o.with(drop), "died at %d, %s", n, point)
		assert.NotContains(t, o.ourRefs(), "refs/smithers/_tip/")

		o.dieAt(n, undo)
		left = o.Git("for-each-ref", "--format=%(objectname)")
		for _, id := range ids {
			require.Contains(t, left, id, "died at %d", n)
		}
		require.NoError(t, o.with(undo), "died at %d", n)
		assert.Equal(t, before, o.ourRefs(), "died at %d, %s", n, point)
		if point == "" {
			require.Greater(t, n, 1)
			return
		}
	}
}
