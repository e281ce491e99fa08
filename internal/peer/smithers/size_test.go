package smithers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
)

// An imported run takes what its frames change, and each frame some hundred bytes. The databases here are
// small, and their frames change much: of one that has grown, it is far less, as the test of the real
// engine's loop shows.
func TestAnImportTakesAFractionOfItsDatabase(t *testing.T) {
	t.Parallel()
	repotest.NeedsSHA1(t)
	for fixture, most := range map[string]float64{gitFixture: 0.11, jjFixture: 0.08} {
		h := newHome(t)
		before := packed(t, h)
		path := copyOf(t, fixture)
		h.take(path)
		info, err := os.Stat(path)
		require.NoError(t, err)
		size := packed(t, h) - before
		t.Logf("%s: %d of %d bytes, %.1f %%", fixture, size, info.Size(), 100*float64(size)/float64(info.Size()))
		assert.Less(t, float64(size), most*float64(info.Size()))
	}
}

// packed is how many bytes the repository's packs and their indexes have.
func packed(t *testing.T, h *home) (bytes int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.Repo().CommonDir, "objects", "pack", "*"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, ".pack") || strings.HasSuffix(file, ".idx") {
			info, err := os.Stat(file)
			require.NoError(t, err)
			bytes += info.Size()
		}
	}
	return bytes
}
