package source_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// described is everything that SQLite says of the tables of Smithers, but their statements.
func described(t *testing.T, db *sql.DB) []string {
	t.Helper()
	list, err := db.QueryContext(t.Context(), `
		SELECT format('%s %s of %s', type, name, tbl_name) FROM sqlite_master WHERE tbl_name LIKE '\_smithers%' ESCAPE '\'
		UNION ALL SELECT format('%s: %d %s %s null %d default %s key %d', m.name, c.cid, c.name, c.type, c."notnull", c.dflt_value, c.pk)
			FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND m.name LIKE '\_smithers%' ESCAPE '\'
		UNION ALL SELECT format('%s: %s unique %d %s, %d %s %d %s', m.name, i.name, i."unique", i.origin, x.seqno, x.name, x."desc", x.coll)
			FROM sqlite_master m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) x WHERE m.type = 'table' AND m.name LIKE '\_smithers%' ESCAPE '\'
		UNION ALL SELECT format('%s: %d %d %s(%s) %s %s %s', m.name, f.id, f.seq, f."table", f."to", f."from", f.on_update, f.on_delete)
			FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' AND m.name LIKE '\_smithers%' ESCAPE '\'
		UNION ALL SELECT format('%s counts up', name) FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'
		UNION ALL SELECT format('%s checks', name) FROM sqlite_master WHERE sql LIKE '%CHECK (%'`)
	require.NoError(t, err)
	defer func() { assert.NoError(t, list.Close()) }()
	var lines []string
	for list.Next() {
		var line string
		require.NoError(t, list.Scan(&line))
		lines = append(lines, line)
	}
	require.NoError(t, list.Err())
	slices.Sort(lines)
	return lines
}

func TestAStatementWithoutAnEndIsDamage(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{
		"", "CREATE", "CREATE UNIQUE INDEX", "CREATE UNIQUE TABLE", "CREATE TABLE [t", `CREATE TABLE "t`, "CREATE TABLE 't",
		"CREATE TABLE t", "CREATE TABLE t(", "CREATE TABLE t /* (a)", "CREATE TABLE t(a) '", "CREATE TABLE t(a); DROP TABLE t",
	} {
		_, err := source.ParseTable(t.Context(), "t", statement)
		assert.ErrorIs(t, err, source.ErrDamaged, statement)
	}
}

func TestTheSchemaIsThatOfSmithers(t *testing.T) {
	t.Parallel()
	fresh := filepath.Join(t.TempDir(), "new.db")
	write(t, fresh, func(*source.WriteTx) error { return nil })
	want := described(t, open(t, fixture(t)))
	assert.Greater(t, len(want), 400)
	assert.Equal(t, want, described(t, open(t, fresh)))
}

func TestTheTablesOfTheSchemaAreThoseOfADatabase(t *testing.T) {
	t.Parallel()
	read(t, filepath.Join(fixtures, "jj-pristine-31frames.db"), func(tx *source.Tx) {
		tables := 0
		for _, table := range source.Schema() {
			if table.Columns == nil {
				assert.Nil(t, tx.Table(table.Name))
				continue
			}
			tables++
			require.NotNil(t, tx.Table(table.Name), table.Name)
			assert.Equal(t, tx.Table(table.Name).Columns, table.Columns, table.Name)
			assert.True(t, tx.Table(table.Name).Same(&table))
		}
		assert.Equal(t, 40, tables)
	})
}

func TestTheTriggersCountReferencesToContents(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	write(t, path, func(*source.WriteTx) error { return nil })
	db := open(t, path)
	snapshot := func(frame int, nodes string) string {
		return fmt.Sprintf("INSERT INTO _smithers_snapshots VALUES ('r', %d, '%s', '', '', '', NULL, NULL, 'h', 1)", frame, nodes)
	}
	ref := func(frame int, hash string) string {
		return fmt.Sprintf("INSERT INTO _smithers_snapshot_payload_refs VALUES ('r', %d, '%s')", frame, hash)
	}
	count := func() (n int) {
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT coalesce(sum(ref_count), -1) FROM _smithers_snapshot_contents").Scan(&n))
		return n
	}
	execute(t, db, "INSERT INTO _smithers_snapshot_contents VALUES ('h', 'n', 'o', 'r', 'i', 0)",
		snapshot(1, ""), snapshot(2, ""), snapshot(3, "inline"), ref(1, "h"), ref(2, "h"))
	assert.Equal(t, 2, count())
	for _, refused := range []string{ref(3, "h"), ref(4, "h"), "UPDATE _smithers_snapshot_payload_refs SET content_hash = 'x'"} {
		_, err := db.ExecContext(t.Context(), refused)
		assert.Error(t, err, refused)
	}
	execute(t, db, "UPDATE _smithers_snapshots SET nodes_json = 'inline' WHERE frame_no = 1")
	assert.Equal(t, 1, count())
	execute(t, db, "DELETE FROM _smithers_snapshots WHERE frame_no = 2")
	assert.Equal(t, -1, count(), "contents that nobody refers to are gone")
}

func TestATableIsMadeOnceAndKeepsItsShape(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	plan := source.Table{
		Name: `my "plan"`, SQL: "CREATE TABLE \"my \"\"plan\"\"\" -- it's; a comment\n(run_id TEXT /* ; */, n REAL DEFAULT ';', PRIMARY KEY (run_id))",
		Columns: []source.Column{{Name: "run_id", Type: "TEXT", Key: 1}, {Name: "n", Type: "REAL"}},
	}
	wider := plan
	wider.SQL = "ignored"
	wider.Columns = append(slices.Clone(plan.Columns), source.Column{Name: `more "`, Type: "NUMERIC(1, -2)"}, source.Column{Name: "bare"})
	write(t, path, func(tx *source.WriteTx) error {
		require.NoError(t, tx.Ensure(plan))
		require.NoError(t, tx.Ensure(wider))
		require.NoError(t, tx.Ensure(wider))
		assert.Equal(t, wider.Columns, tx.Table(plan.Name).Columns)
		for _, table := range source.Schema() {
			require.NoError(t, tx.Ensure(table))
		}
		wider.Columns = append(wider.Columns, source.Column{Name: "key", Type: "TEXT", Key: 2})
		assert.ErrorContains(t, tx.Ensure(wider), "cannot be added")
		wider.Columns[len(wider.Columns)-1] = source.Column{Name: "evil", Type: "TEXT; DROP TABLE _smithers_runs"}
		assert.ErrorContains(t, tx.Ensure(wider), "cannot be added")
		return nil
	})
	intact(t, path)
}

func TestAStatementThatIsNotOneTableIsNeverRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	write(t, path, func(tx *source.WriteTx) error {
		for _, statement := range []string{
			"", "CREATE", "CREATE TABLE", "CREATE TABLE t", "DROP TABLE _smithers_runs", "SELECT 1",
			"CREATE TABLE t (a); DROP TABLE _smithers_runs",
			"CREATE TABLE t (a DEFAULT 'it''s'); DELETE FROM _smithers_runs",
			"CREATE TABLE t (a) /* ; */; DROP TABLE _smithers_runs",
			"CREATE TABLE t (a); ", "CREATE TABLE t (a) /* open", "CREATE TABLE t (a DEFAULT 'open)", "CREATE TABLE t (a) \x00",
			"CREATE TABLE u (a)", "CREATE TABLE main.t (a)", "CREATE TABLE temp.t (a)", "CREATE TEMP TABLE t (a)",
			"CREATE TABLE IF NOT EXISTS t (a)", "CREATE TABLE t AS SELECT * FROM _smithers_runs",
			"CREATE VIRTUAL TABLE t USING fts5(a)", "CREATE VIEW t AS SELECT 1", "ATTACH 'other.db' AS t",
			"CREATE UNIQUE TABLE t (a)", "CREATE TRIGGER t AFTER INSERT ON _smithers_runs BEGIN DELETE FROM _smithers_runs; END",
			"CREATE INDEX t ON _smithers_runs (run_id)",
		} {
			assert.ErrorIs(t, tx.Ensure(source.Table{Name: "t", SQL: statement}), source.ErrDamaged, statement)
		}
		assert.Nil(t, tx.Table("t"))
		return nil
	})
	assert.NotContains(t, described(t, open(t, path)), "index t of _smithers_runs")
	assert.Equal(t, described(t, open(t, fixture(t))), described(t, open(t, path)))
}
