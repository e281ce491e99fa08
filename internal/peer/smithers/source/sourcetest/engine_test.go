package sourcetest_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
)

func TestAnEngineHasWrittenWhatItsSourceHasInTheEnd(t *testing.T) {
	t.Parallel()
	source := filepath.Join("..", "..", "..", "..", "..", "testdata", "smithers", "jj-pristine-31frames.db")
	path := filepath.Join(t.TempDir(), "smithers.db")
	engine, err := sourcetest.Begin(t.Context(), source, path)
	require.NoError(t, err)
	require.NoError(t, engine.Frame(t.Context(), "run-j", 1))
	require.NoError(t, engine.Frame(t.Context(), "run-j", 2))
	assert.Equal(t, map[string]int64{"_smithers_snapshots": 2, "_smithers_attempts": 1}, counts(t, path, "_smithers_snapshots", "_smithers_attempts"))
	require.NoError(t, engine.End(t.Context(), "run-j"))
	tables := []string{"_smithers_snapshots", "_smithers_snapshot_contents", "_smithers_attempts", "_smithers_events", "flaky_out", "input"}
	assert.Equal(t, counts(t, source, tables...), counts(t, path, tables...))
	require.NoError(t, engine.Close())
}

func counts(t *testing.T, path string, tables ...string) map[string]int64 {
	t.Helper()
	out := make(map[string]int64)
	db, err := source.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, db.Read(t.Context(), func(tx *source.Tx) error {
		for _, table := range tables {
			out[table], err = tx.Count(table, "")
			require.NoError(t, err)
		}
		return nil
	}))
	require.NoError(t, db.Close())
	return out
}
