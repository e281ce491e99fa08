package source_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

func TestTheHashesOfEverySnapshotOfSmithersAreThoseComputed(t *testing.T) {
	t.Parallel()
	for name, snapshots := range map[string]int{"git-run-fork-replay.db": 49, "jj-pristine-31frames.db": 31} {
		read(t, filepath.Join(fixtures, name), func(tx *source.Tx) {
			runs, err := tx.Runs()
			require.NoError(t, err)
			seen := 0
			for _, run := range runs {
				heads, err := tx.Heads(run["run_id"].Bytes)
				require.NoError(t, err)
				newest, err := tx.Newest(run["run_id"].Bytes)
				require.NoError(t, err)
				assert.Equal(t, heads[len(heads)-1], *newest)
				for _, head := range heads {
					s, err := tx.Snapshot(run["run_id"].Bytes, head.Frame)
					require.NoError(t, err)
					assert.Equal(t, head, s.Head)
					assert.Equal(t, source.Compact, s.Layout)
					assert.Equal(t, s.ContentHash, source.ContentHash(s.Contents))
					assert.NotContains(t, s.Row, "nodes_json")
					assert.Equal(t, integer(head.Frame), s.Row["frame_no"])
					seen++
				}
			}
			assert.Equal(t, snapshots, seen)
		})
	}
}

func TestRunsComeInTheOrderOfTheirBeginning(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, `INSERT INTO _smithers_runs VALUES ('z', 0, 'a'), ('b', 1, 'a'), (NULL, 5, 'a')`)
	read(t, path, func(tx *source.Tx) {
		runs, err := tx.Runs()
		require.NoError(t, err)
		var ids []source.Value
		for _, run := range runs {
			ids = append(ids, run["run_id"])
		}
		assert.Equal(t, []source.Value{text("z"), text("b"), text("r"), {}}, ids)
	})
}

func TestValuesAreReadExactlyAsTheyAreStored(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, `CREATE TABLE odd (run_id TEXT, at DATETIME, day DATE, yes BOOLEAN, any)`,
		`INSERT INTO odd VALUES ('r', '2026-11-21 10:00:00', '2026-11-21', 1, x'')`,
		`INSERT INTO odd VALUES ('r', 1795196848375, 2.0, 'yes', x'00ff')`,
		`INSERT INTO odd VALUES ('r', NULL, 0.1, NULL, CAST(x'61ff0062' AS TEXT))`,
		`INSERT INTO odd VALUES ('r', -9223372036854775808, '', 1e300, '')`)
	read(t, path, func(tx *source.Tx) {
		got := rows(t, tx, "odd", "r")
		require.Len(t, got, 4)
		double := func(f float64) source.Value { return source.Value{Kind: source.Real, Real: f} }
		blob := func(s string) source.Value { return source.Value{Kind: source.Blob, Bytes: s} }
		assert.Equal(t, source.Row{
			"run_id": text("r"), "at": text("2026-11-21 10:00:00"), "day": text("2026-11-21"), "yes": integer(1), "any": blob(""),
		}, got[0])
		assert.Equal(t, source.Row{
			"run_id": text("r"), "at": integer(1795196848375), "day": integer(2), "yes": text("yes"), "any": blob("\x00\xff"),
		}, got[1])
		assert.Equal(t, source.Row{
			"run_id": text("r"), "at": {}, "day": double(0.1), "yes": {}, "any": text("a\xff\x00b"),
		}, got[2])
		assert.Equal(t, source.Row{
			"run_id": text("r"), "at": integer(-9223372036854775808), "day": text(""), "yes": double(1e300), "any": text(""),
		}, got[3])
	})
}

func TestRowsComeInTheOrderOfTheirKeyAndOfOneRun(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL,
		`CREATE TABLE keyed (n INTEGER, "run_id" TEXT COLLATE NOCASE, PRIMARY KEY (run_id, n)) WITHOUT ROWID`,
		`INSERT INTO keyed VALUES (2, 'r'), (10, 'r'), (1, 's'), (3, 'R')`,
		`CREATE TABLE unkeyed (run_id TEXT, n INTEGER)`,
		`INSERT INTO unkeyed VALUES ('r', 2), ('s', 0), ('r', 1)`)
	read(t, path, func(tx *source.Tx) {
		numbers := func(table, run string) (list []int64) {
			got := rows(t, tx, table, run)
			n, err := tx.Count(table, run)
			require.NoError(t, err)
			assert.Len(t, got, int(n))
			if most, err := tx.Greatest(table, run, "n"); assert.NoError(t, err) && run == "r" && n > 0 {
				assert.Equal(t, integer(slices.MaxFunc(got, func(a, b source.Row) int { return cmp.Compare(a["n"].Int, b["n"].Int) })["n"].Int), most)
			}
			for _, row := range got {
				list = append(list, row["n"].Int)
			}
			return list
		}
		assert.Equal(t, []int64{2, 10}, numbers("keyed", "r"))
		assert.Equal(t, []int64{2, 3, 10, 1}, numbers("keyed", ""))
		assert.Equal(t, []int64{2, 1}, numbers("unkeyed", "r"))
		assert.Empty(t, numbers("absent", "r"))
	})
}

func TestATableWithoutRunsHasNoRowsOfARun(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL, `CREATE TABLE global (k TEXT)`, `INSERT INTO global VALUES ('a')`)
	read(t, path, func(tx *source.Tx) {
		assert.Empty(t, rows(t, tx, "global", "r"))
		assert.Len(t, rows(t, tx, "global", ""), 1)
	})
}

func TestOnlyOrdinaryTablesAreTables(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL,
		`CREATE VIEW _smithers_frames AS SELECT 'r' AS run_id`,
		`CREATE VIRTUAL TABLE words USING fts5(word)`,
		`CREATE TABLE "a ""quoted"" name" (run_id TEXT, "odd "" column" ANY, made AS (1) STORED, PRIMARY KEY ("odd "" column", run_id))`)
	read(t, path, func(tx *source.Tx) {
		var names []string
		for _, table := range tx.Tables() {
			names = append(names, table.Name)
		}
		assert.Equal(t, []string{"_smithers_runs", `a "quoted" name`}, names)
		table := tx.Table(`a "quoted" name`)
		require.NotNil(t, table)
		assert.Equal(t, []source.Column{{Name: "run_id", Type: "TEXT", Key: 2}, {Name: `odd " column`, Type: "ANY", Key: 1}}, table.Columns)
		assert.Nil(t, tx.Table("words"))
		assert.Empty(t, rows(t, tx, "_smithers_frames", "r"))
		assert.Empty(t, rows(t, tx, `a "quoted" name`, "r"))
	})
}

func TestRowsOfOneTableCanBeReadWhileThoseOfAnotherAre(t *testing.T) {
	t.Parallel()
	read(t, filepath.Join(fixtures, "jj-pristine-31frames.db"), func(tx *source.Tx) {
		for _, err := range tx.Rows("_smithers_nodes", "run-j") {
			require.NoError(t, err)
			assert.Len(t, rows(t, tx, "_smithers_frames", "run-j"), 31)
			break
		}
	})
}

func TestReadingGivesBackTheErrorOfTheReader(t *testing.T) {
	t.Parallel()
	db, err := source.Open(t.Context(), filepath.Join(fixtures, "jj-pristine-31frames.db"))
	require.NoError(t, err)
	mine := errors.New("mine")
	require.ErrorIs(t, db.Read(t.Context(), func(*source.Tx) error { return mine }), mine)
}

func TestADatabaseIsFoundThroughALinkAndUnderAnOddName(t *testing.T) {
	t.Parallel()
	path := database(t, "PRAGMA journal_mode = WAL", runsSQL)
	odd := filepath.Join(filepath.Dir(path), "a b?c#d%20.db")
	require.NoError(t, os.Rename(path, odd))
	link := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.Symlink(odd, link))
	require.NoError(t, readAll(t.Context(), link))
	assert.Equal(t, []string{"a b?c#d%20.db"}, beside(t, odd))
	assert.Equal(t, []string{"link.db"}, beside(t, link))
}
