package source_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/smithersnames"
)

// writeFile puts content where a database would be.
func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "smithers.db")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestWhatIsNoDatabaseOfSmithersIsSaidToBeNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"nothing":         {filepath.Join(t.TempDir(), "none.db"), fs.ErrNotExist},
		"a folder":        {t.TempDir(), source.ErrNotDatabase},
		"a device":        {"/dev/null", source.ErrNotDatabase},
		"an empty file":   {writeFile(t, nil), source.ErrNotSmithers},
		"text":            {writeFile(t, []byte(strings.Repeat("text ", 1000))), source.ErrNotDatabase},
		"a short header":  {writeFile(t, []byte("SQLite format 3\x00")), source.ErrIncomplete},
		"a part of one":   {writeFile(t, []byte("SQLi")), source.ErrIncomplete},
		"a short text":    {writeFile(t, []byte("SQLi, more or less")), source.ErrNotDatabase},
		"only a header":   {writeFile(t, append([]byte("SQLite format 3\x00"), make([]byte, 84)...)), source.ErrNotDatabase},
		"another's":       {database(t, "CREATE TABLE t (a)"), source.ErrNotSmithers},
		"no tables":       {database(t, "PRAGMA user_version = 1"), source.ErrNotSmithers},
		"a view of runs":  {database(t, "CREATE VIEW _smithers_runs AS SELECT 'r' AS run_id, 1 AS created_at_ms"), source.ErrNotSmithers},
		"an index":        {database(t, runsSQL, fmt.Sprintf("PRAGMA application_id = %d", smithersnames.IndexID)), source.ErrIndex},
		"its details":     {database(t, runsSQL, fmt.Sprintf("PRAGMA application_id = %d", smithersnames.DetailIndexID)), source.ErrIndex},
		"runs without id": {database(t, "CREATE TABLE _smithers_runs (id TEXT, created_at_ms INTEGER)"), source.ErrNotSmithers},
	} {
		err := readAll(t.Context(), c.path)
		assert.ErrorIs(t, err, c.want, name)
		if name == "nothing" {
			assert.NoFileExists(t, c.path)
		}
	}
}

// isDamage reports whether an error is one of those that a file's content can have.
func isDamage(err error) bool {
	return errors.Is(err, source.ErrDamaged) || errors.Is(err, source.ErrNotDatabase) ||
		errors.Is(err, source.ErrNotSmithers) || errors.Is(err, source.ErrTooLarge)
}

func TestATruncatedDatabaseIsDamagedWhereverItEnds(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(fixtures, "jj-pristine-31frames.db"))
	require.NoError(t, err)
	for size := 1; size < len(content); size += 4096*17 + 1000 {
		for _, size := range []int{size, size / 4096 * 4096, len(content) - size%4096} {
			err := readAll(t.Context(), writeFile(t, content[:size]))
			require.Error(t, err, size)
			assert.True(t, isDamage(err), "%d bytes: %v", size, err)
			if size > 0 {
				assert.ErrorIs(t, err, source.ErrIncomplete, size)
			}
		}
	}
}

func TestADatabaseThatIsDamagedAndWholeIsNotIncomplete(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(fixtures, "jj-pristine-31frames.db"))
	require.NoError(t, err)
	clear(content[4096:])
	err = readAll(t.Context(), writeFile(t, content))
	require.ErrorIs(t, err, source.ErrDamaged)
	assert.NotErrorIs(t, err, source.ErrIncomplete)
}

func TestGarbageInADatabaseIsDamageOrContent(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(fixtures, "jj-pristine-31frames.db"))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 12 {
		broken := append([]byte(nil), content...)
		switch at := random.IntN(len(content)/4096) * 4096; random.IntN(3) {
		case 0: // a page of nothing
			clear(broken[at : at+4096])
		case 1: // a page of another place
			copy(broken[at:at+4096], content[random.IntN(len(content)/4096)*4096:])
		case 2: // some bytes
			for range 200 {
				broken[random.IntN(len(broken))] = byte(random.IntN(256))
			}
		}
		path := writeFile(t, broken)
		if err := readAll(t.Context(), path); err != nil {
			found++
			assert.True(t, isDamage(err), "%v", err)
		}
		assert.Equal(t, []string{"smithers.db"}, beside(t, path))
	}
	assert.Positive(t, found)
}

func TestDamageInTheHeaderIsFound(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(database(t, runsSQL))
	require.NoError(t, err)
	for at := range 100 {
		for _, b := range []byte{2, 255} {
			broken := append([]byte(nil), content...)
			broken[at] = b
			if err := readAll(t.Context(), writeFile(t, broken)); err != nil {
				assert.True(t, isDamage(err), "byte %d is %d: %v", at, b, err)
			}
		}
	}
}

func TestASchemaThatCannotBeParsedIsDamaged(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, "PRAGMA writable_schema = ON",
		"UPDATE sqlite_master SET sql = 'CREATE TABLE _smithers_runs (run_id TEXT' WHERE name = '_smithers_runs'")
	assert.ErrorIs(t, readAll(t.Context(), path), source.ErrDamaged)
}

func TestATableThatLacksColumnsIsDamagedWhereTheyAreNeeded(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, "CREATE TABLE _smithers_snapshots (run_id TEXT, frame_no INTEGER)", "INSERT INTO _smithers_snapshots VALUES ('r', 1)")
	read(t, path, func(tx *source.Tx) {
		_, err := tx.Heads("r")
		assert.ErrorIs(t, err, source.ErrDamaged)
		_, err = tx.Snapshot("r", 1)
		assert.ErrorIs(t, err, source.ErrDamaged)
		assert.Len(t, rows(t, tx, "_smithers_snapshots", "r"), 1)
	})
}
