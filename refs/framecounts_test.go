package refs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/refs/refstest"
)

func TestFrameRefsAreCountedByRunOnceEach(t *testing.T) {
	t.Parallel()
	repo := refstest.New(t)
	ids := refstest.Objects(t, repo, 2)
	var create strings.Builder
	for run, frames := range map[string]int{"a": 3, "Loud": 2, "tip-only": 0} {
		fmt.Fprintf(&create, "create %s %v\n", refstest.Tip(t, run), ids[0])
		for frame := range frames {
			fmt.Fprintf(&create, "create %s %v\n", refstest.Frame(t, run, int64(frame)), ids[0])
		}
	}
	for _, name := range []string{"refs/smithers/a/07", "refs/smithers/a/x", "refs/smithers/X/1", "refs/smithers/_gone/1", "refs/smithers/_tip/7"} {
		fmt.Fprintf(&create, "create %s %v\n", name, ids[0])
	}
	repo.GitInput(create.String(), "update-ref", "--stdin")
	db := refstest.Open(t, repo, nil)
	check := func(what string, want map[string]int) {
		t.Helper()
		counts, err := db.FrameCounts(t.Context())
		require.NoError(t, err, what)
		assert.Equal(t, want, counts, what)
	}
	check("in files", map[string]int{"a": 3, "%4coud": 2})
	repo.Git("pack-refs", "--all", "--prune")
	check("packed", map[string]int{"a": 3, "%4coud": 2})
	repo.Git("update-ref", string(refstest.Frame(t, "a", 1)), ids[1].String())
	repo.Git("update-ref", string(refstest.Frame(t, "a", 3)), ids[1].String())
	check("packed and in files", map[string]int{"a": 4, "%4coud": 2})
	repo.Git("update-ref", "-d", string(refstest.Frame(t, "Loud", 0)))
	repo.Git("update-ref", "-d", string(refstest.Frame(t, "Loud", 1)))
	check("gone", map[string]int{"a": 4})
}
