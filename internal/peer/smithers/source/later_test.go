package source_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

func TestTheEndOfARunsRowsIsReadAndTheOthersCounted(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL,
		"CREATE TABLE events (run_id TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run_id, seq))",
		"CREATE TABLE notes (run_id TEXT, seq INTEGER, PRIMARY KEY (seq, run_id))",
		"INSERT INTO events VALUES ('r', 0, 'a'), ('r', 1, 'b'), ('r', 5, 'c'), ('q', 9, 'd')",
		"INSERT INTO notes VALUES ('r', 0)")
	read(t, path, func(tx *source.Tx) {
		rows, before, ok, err := tx.Later("events", "r", "seq", 1)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.EqualValues(t, 1, before)
		require.Len(t, rows, 2)
		assert.Equal(t, "b", rows[0]["body"].Bytes)
		assert.EqualValues(t, 5, rows[1]["seq"].Int)
		for _, table := range []string{"notes", "none"} {
			_, _, ok, err = tx.Later(table, "r", "seq", 0)
			require.NoError(t, err)
			assert.False(t, ok, "its rows are not in that order")
		}
	})
}

func TestATallyOfRowsThatAreNotReadIsThatOfTheRows(t *testing.T) {
	t.Parallel()
	path := database(t, runsSQL,
		"CREATE TABLE attempts (run_id TEXT, n INTEGER, ended INTEGER, error TEXT, log BLOB, PRIMARY KEY (run_id, n))",
		`INSERT INTO attempts VALUES ('r', 1, 10, 'é', x'0001'), ('r', 2, 20, NULL, NULL), ('r', 3, 21, 'x', NULL),
			('r', 4, NULL, NULL, NULL), ('r', 5, 'never', NULL, NULL), ('r', 6, -5, NULL, NULL), ('q', 1, 10, 'é', NULL)`)
	by := source.SettledRange{Column: "ended", Most: 20}
	columns := []string{"ended", "error", "log"}
	read(t, path, func(tx *source.Tx) {
		tally, ok, err := tx.Tally("attempts", "r", by, columns)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, source.Tally{Rows: 2, Sums: []int64{30, 2, 2}}, tally)
		assert.Equal(t, tally, source.TallyOf(rows(t, tx, "attempts", "r"), by, columns))

		open, err := tx.Unsettled("attempts", "r", by)
		require.NoError(t, err)
		var numbers []int64
		for _, row := range open {
			numbers = append(numbers, row["n"].Int)
		}
		assert.Equal(t, []int64{3, 4, 5, 6}, numbers)

		later := source.SettledRange{Column: "ended", Most: 21}
		whole, _, err := tx.Tally("attempts", "r", later, columns)
		require.NoError(t, err)
		assert.True(t, whole.Equal(tally.Plus(source.TallyOf(open, later, columns))))
		_, ok, err = tx.Tally("attempts", "r", by, []string{"state"})
		require.NoError(t, err)
		assert.False(t, ok)
	})
}
