package tables

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// fixtureRun is a run of a database that Smithers 0.32.0 made: its rows, and what we know of it.
type fixtureRun struct {
	id      string
	at      dbrow.Root
	facts   *Facts
	columns []OutputColumn
	tables  []source.Table
	rows    map[string][]source.Row // by table
}

// clone is a run that a test may change.
func (r *fixtureRun) clone() *fixtureRun {
	c := *r
	c.facts = new(*r.facts)
	c.tables, c.rows = slices.Clone(r.tables), make(map[string][]source.Row, len(r.rows))
	for table, rows := range r.rows {
		for _, row := range rows {
			c.rows[table] = append(c.rows[table], maps.Clone(row))
		}
	}
	return &c
}

// readFixtures are the runs that were read before.
var readFixtures struct {
	sync.Mutex
	runs map[string]*fixtureRun
}

// fixtureRuns are the runs of the databases that Smithers 0.32.0 made, by their ids.
func fixtureRuns(t *testing.T) map[string]*fixtureRun {
	t.Helper()
	readFixtures.Lock()
	defer readFixtures.Unlock()
	if readFixtures.runs == nil {
		runs := make(map[string]*fixtureRun)
		for _, name := range []string{"git-run-fork-replay.db", "jj-pristine-31frames.db"} {
			readFixtureRuns(t, name, runs)
		}
		readFixtures.runs = runs
	}
	runs := make(map[string]*fixtureRun, len(readFixtures.runs))
	for id, run := range readFixtures.runs {
		runs[id] = run.clone()
	}
	return runs
}

func readFixtureRuns(t *testing.T, name string, runs map[string]*fixtureRun) {
	t.Helper()
	db, err := source.Open(t.Context(), filepath.Join("..", "..", "..", "..", "testdata", "smithers", name))
	require.NoError(t, err)
	require.NoError(t, db.Read(t.Context(), func(tx *source.Tx) error {
		rows, err := tx.Runs()
		require.NoError(t, err)
		for _, row := range rows {
			r := readFixtureRun(t, tx, row)
			runs[r.id] = r
		}
		return nil
	}))
	require.NoError(t, db.Close())
}

func readFixtureRun(t *testing.T, tx *source.Tx, row source.Row) *fixtureRun {
	t.Helper()
	run := &fixtureRun{id: row["run_id"].Bytes, rows: make(map[string][]source.Row)}
	for _, table := range tx.Tables() {
		if !slices.ContainsFunc(table.Columns, func(c source.Column) bool { return dbrow.IsRunColumn(c.Name) }) {
			continue
		}
		run.tables = append(run.tables, table)
		run.rows[table.Name] = allRows(t, tx, table.Name, run.id)
	}
	for _, column := range allRows(t, tx, "_smithers_output_schema_columns", "") {
		run.columns = append(run.columns, OutputColumn{column["table_name"].Bytes, column["column_name"].Bytes, column["kind"].Bytes})
	}
	run.facts, run.at = factsOfRows(t, tx, run, row)
	return run
}

func allRows(t *testing.T, tx *source.Tx, table, run string) []source.Row {
	t.Helper()
	var rows []source.Row
	for row, err := range tx.Rows(table, run) {
		require.NoError(t, err)
		rows = append(rows, row)
	}
	return rows
}

// factsOfRows is what we know of a run once its rows were read.
func factsOfRows(t *testing.T, tx *source.Tx, run *fixtureRun, row source.Row) (*Facts, dbrow.Root) {
	t.Helper()
	f := &Facts{Logs: make(map[string]string)}
	var at dbrow.Root
	f.Run, at = ReadRun(row)
	for _, branch := range run.rows[Branches] {
		f.Run.Parent = &snapshot.Parent{
			RunID: branch["parent_run_id"].Bytes, Frame: branch["parent_frame_no"].Int, AtMs: branch["created_at_ms"].Int,
			Label: branch["branch_label"].Bytes, Description: branch["fork_description"].Bytes,
			Commit: objstore.Hash(objstore.Blob, nil),
		}
	}
	heads, err := tx.Heads(run.id)
	require.NoError(t, err)
	f.Frames = fixtureFrames(t, run, heads)
	newest, err := tx.Snapshot(run.id, heads[len(heads)-1].Frame)
	require.NoError(t, err)
	f.Whole, err = contents.Read(newest.Contents, f.Frames[len(f.Frames)-1].Tree, snapshot.Limits{})
	require.NoError(t, err)
	readFixtureMail(t, f, run)
	for _, row := range run.rows[Attempts] {
		a, log, ok := ReadAttempt(row)
		require.True(t, ok, "attempt %v", row)
		f.Attempts = append(f.Attempts, a)
		f.Logs[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)] = log
	}
	frames, next := framesByPeer(f.Frames), int64(0)
	for _, row := range run.rows[Events] {
		e, ok := ReadEvent(row, run.id, f.Run.Workflow, frames)
		require.True(t, ok, "event %v", row)
		f.Events = append(f.Events, Numbered(e, next))
		next = e.Seq + 1
	}
	return f, at
}

func fixtureFrames(t *testing.T, run *fixtureRun, heads []source.Head) []FrameFacts {
	t.Helper()
	var frames []FrameFacts
	tree := ""
	for i, head := range heads {
		frame := FrameFacts{Frame: int64(i), PeerNo: head.Frame, AtMs: head.AtMs, ContentHash: head.ContentHash}
		for _, row := range run.rows["_smithers_frames"] {
			if row["frame_no"].Int == head.Frame {
				var err error
				tree, err = source.Inflate(tree, row["xml_json"].Bytes, row["encoding"].Bytes)
				require.NoError(t, err)
				frame.Tree, frame.XMLHash = tree, source.XMLHash(tree)
			}
		}
		frames = append(frames, frame)
	}
	return frames
}

func readFixtureMail(t *testing.T, f *Facts, run *fixtureRun) {
	t.Helper()
	for _, row := range run.rows[Approvals] {
		a, ok := ReadApproval(row, f.Run.CreatedAtMs)
		require.True(t, ok, "approval %v", row)
		f.Whole.Approvals = append(f.Whole.Approvals, a)
	}
	for i, row := range run.rows[Signals] {
		s, ok := ReadSignal(row)
		require.True(t, ok, "signal %v", row)
		s.Seq = int64(i)
		f.Whole.Signals = append(f.Whole.Signals, s)
	}
	for _, row := range run.rows[Attempts] {
		a, _, _ := ReadAttempt(row)
		if w, ok := ReadWait(row, a); ok {
			wait, ok := w.Then(Never, map[int64]int64{12: 0})
			require.True(t, ok, "wait %v", row)
			f.Whole.Waits = append(f.Whole.Waits, wait)
		}
	}
}

// table finds a table of the run's database.
func (r *fixtureRun) table(t *testing.T, name string) source.Table {
	t.Helper()
	i := slices.IndexFunc(r.tables, func(table source.Table) bool { return table.Name == name })
	require.GreaterOrEqual(t, i, 0, "no table %s", name)
	return r.tables[i]
}

// overrides are those of a table.
func (r *fixtureRun) overrides(t *testing.T, name string) []dbrow.Override {
	t.Helper()
	table := r.table(t, name)
	predicted, err := Predict(r.facts, table, r.columns)
	require.NoError(t, err)
	over, err := dbrow.Differences(table, predicted, r.rows[name], r.at)
	require.NoError(t, err)
	return over
}

// allOverrides are those of all tables that have any, but for the tables of frames.
func (r *fixtureRun) allOverrides(t *testing.T) map[string][]dbrow.Override {
	t.Helper()
	all := make(map[string][]dbrow.Override)
	for _, table := range r.tables {
		if over := r.overrides(t, table.Name); len(over) > 0 && !isFrames(table.Name) {
			all[table.Name] = over
		}
	}
	return all
}

func isFrames(table string) bool {
	return table == "_smithers_frames" || table == "_smithers_snapshots" || table == "_smithers_snapshot_payload_refs"
}

// restored are the rows of a table as they come back for a root.
func (r *fixtureRun) restored(t *testing.T, name string, at dbrow.Root) []source.Row {
	t.Helper()
	table := r.table(t, name)
	predicted, err := Predict(r.facts, table, r.columns)
	require.NoError(t, err)
	rows, err := dbrow.Restore(table, predicted, r.overrides(t, name), r.id, at)
	require.NoError(t, err)
	return rows
}

func realValue(f float64) source.Value { return source.Value{Kind: source.Real, Real: f} }

func blobValue(b string) source.Value { return source.Value{Kind: source.Blob, Bytes: b} }

// roundTrip returns the restored rows and their overrides.
func roundTrip(t *testing.T, table source.Table, predicted, actual []source.Row) ([]source.Row, []dbrow.Override) {
	t.Helper()
	over, err := dbrow.Differences(table, predicted, actual, "")
	require.NoError(t, err)
	rows, err := dbrow.Restore(table, predicted, over, "r", "")
	require.NoError(t, err)
	return rows, over
}
