package search_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/search"
)

// Whatever happens between searches, a search finds what a scan of all texts finds: frames that come, forks, runs that go, an index that is deleted or
// damaged, and one that is kept open meanwhile.
func TestASearchFindsWhatAScanFinds(t *testing.T) {
	t.Parallel()
	repotest.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		kept := w.open()
		defer func() { require.NoError(rt, kept.Close()) }()
		path := filepath.Join(w.store.Private(), search.FileName)
		for i := range rapid.IntRange(3, 12).Draw(rt, "steps") {
			ids := slices.Sorted(maps.Keys(w.runs))
			step := "create"
			if len(ids) > 0 {
				step = rapid.SampledFrom([]string{"create", "append", "append", "append", "fork", "prune", "delete", "damage", "search", "search"}).Draw(rt, "step")
			}
			pick := func() string { return rapid.SampledFrom(ids).Draw(rt, "run") }
			switch step {
			case "create":
				w.create(fmt.Sprintf("run-%02d", i), drawChange(rt))
			case "append":
				w.append(pick(), drawChange(rt))
			case "fork":
				parent := pick()
				w.fork(parent, fmt.Sprintf("fork-%02d", i), rapid.IntRange(0, len(w.runs[parent].entries)-1).Draw(rt, "entry"))
			case "prune":
				w.prune(pick())
				require.NoFileExists(rt, path)
			case "delete":
				require.NoError(rt, os.RemoveAll(path))
			case "damage":
				if data, err := os.ReadFile(path); err == nil {
					for j := rapid.IntRange(0, 4096).Draw(rt, "from"); j < len(data); j += 97 {
						data[j] ^= 0x55
					}
					require.NoError(rt, os.WriteFile(path, data, 0o600))
				}
			case "search":
				x := w.open()
				w.compare(rt, x)
				require.NoError(rt, x.Close())
				_, err := kept.Sync(t.Context(), nil)
				require.NoError(rt, err)
				w.compare(rt, kept)
			}
		}
		x := w.open()
		w.compare(rt, x)
		require.NoError(rt, x.Close())
	})
}
