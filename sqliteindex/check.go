package sqliteindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
)

// Flaw is a problem of an index database.
type Flaw struct {
	File  string // the base name of the database file
	RunID string // the run with wrong rows; "" if the whole file has the problem
	What  string // the problem, for a person
}

// Check returns the flaws of the index databases: damage of a file, and differences from the refs. If runIDs are given,
// Check compares only the rows of these runs. A missing database is not a flaw. Check ignores the rows of a run whose
// tip has moved since the run was indexed. It changes nothing and, unlike the index, never rebuilds a database. If the
// refs or objects cannot be read, or a database is busy, Check returns an error.
func Check(ctx context.Context, opts Options, runIDs ...string) ([]Flaw, error) {
	var flaws []Flaw
	var truth *Index
	defer func() {
		if truth != nil {
			_ = truth.Close() // a database in memory has nothing to lose
		}
	}()
	// The rows of the details include those of the base.
	for _, c := range []checker{
		{opts: opts, path: detailsPath(opts.Path), schema: detailSchema(), runIDs: runIDs},
		{opts: opts, path: opts.Path, schema: baseSchema(), runIDs: runIDs},
	} {
		if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c.truth = truth
		err := c.run(ctx)
		truth = c.truth
		if err != nil {
			return nil, err
		}
		flaws = append(c.flaws, flaws...)
	}
	return flaws, nil
}

// checker compares one database with the refs.
type checker struct {
	opts   Options
	path   string
	schema schema
	runIDs []string // the runs to compare; nil means all runs
	flaws  []Flaw   // the flaws found so far
	truth  *Index   // an index in memory with the rows that the refs say; nil before compare
}

// note records a flaw of the checked file. runID is "" if the flaw concerns the whole file. format and args are
// those of fmt.Sprintf.
func (c *checker) note(runID, format string, args ...any) {
	c.flaws = append(c.flaws, Flaw{filepath.Base(c.path), runID, fmt.Sprintf(format, args...)})
}

// run compares the database with the refs and records its flaws in c.flaws. A database that cannot be read is a flaw,
// not an error. run returns errors of the refs, of the objects and of ctx, and temporary errors of the database.
func (c *checker) run(ctx context.Context) error {
	err := c.look(ctx)
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx) // nil if ctx has not ended
	}
	if _, ofDatabase := errors.AsType[*databaseError](err); ofDatabase && !isTransient(err) {
		c.note("", "%v", errors.Unwrap(err))
		return nil
	}
	return err
}

// look opens the file, checks it and compares its rows, and records the flaws. If SQLite finds the file
// damaged, look compares no rows. An error of the database itself is a *databaseError.
func (c *checker) look(ctx context.Context) (err error) {
	db, err := openFile(ctx, c.path, c.schema, readOnlyMode(c.path), withDefaults(c.opts).BusyTimeout)
	if err != nil {
		return &databaseError{err}
	}
	defer func() { _ = db.Close() }() // opened for reading, so an error of Close loses nothing
	conn, err := db.Conn(ctx)
	if err != nil {
		return &databaseError{err}
	}
	defer func() { _ = conn.Close() }() // as for db.Close
	// All reads are in one transaction, so that all rows have the state of one moment.
	if _, err := conn.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return &databaseError{err}
	}
	sound, err := c.integrity(ctx, conn)
	if err != nil || !sound {
		return err
	}
	return c.compare(ctx, conn)
}

// integrity runs SQLite's integrity check, records at most 10 problems as flaws, and reports whether the file has no
// problem.
func (c *checker) integrity(ctx context.Context, stored *sql.Conn) (bool, error) {
	lines, err := collect[string](ctx, stored, "PRAGMA integrity_check(10)")
	if err != nil {
		return false, &databaseError{err}
	}
	if slices.Equal(lines, []string{"ok"}) {
		return true, nil
	}
	for _, line := range lines {
		c.note("", "%v", line)
	}
	return false, nil
}

// compare checks the stored digest (see compareDigest). It then compares the rows of each requested run with rows that
// are read from the refs, table by table, and records the flaws. It skips a run whose tip has moved, or whose ref was
// removed, since the run was indexed. If c.runIDs is nil, all indexed runs are requested.
func (c *checker) compare(ctx context.Context, stored *sql.Conn) error {
	if err := c.compareDigest(ctx, stored); err != nil {
		return err
	}
	have, err := indexedRuns(ctx, stored)
	if err != nil {
		return err
	}
	var asked []string
	for _, runID := range slices.Sorted(maps.Keys(have)) {
		if c.runIDs == nil || slices.Contains(c.runIDs, runID) {
			asked = append(asked, runID)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	truth, want, err := c.fresh(ctx, asked, have)
	if err != nil {
		return err
	}
	defer func() { _ = truth.Close() }() // a database in memory has nothing to lose
	names, err := c.names(ctx, stored)
	if err != nil {
		return err
	}
	for _, runID := range asked {
		if want[runID] != have[runID] {
			continue // the tip has moved, or the ref was removed, since the run was indexed
		}
		for _, name := range names {
			if err := c.compareRows(ctx, runID, name, stored, truth); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexedRuns returns the commit id of the indexed tip of each run, by run id. An error is a *databaseError.
func indexedRuns(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := collect[struct{ RunID, Tip string }](ctx, conn, "SELECT run_id, git_tip FROM _smithers_runs")
	if err != nil {
		return nil, &databaseError{err}
	}
	tips := make(map[string]string, len(rows))
	for _, row := range rows {
		tips[row.RunID] = row.Tip
	}
	return tips, nil
}

// names returns the names of the tables with rows of runs, sorted. An error is a *databaseError.
func (c *checker) names(ctx context.Context, conn *sql.Conn) ([]string, error) {
	names := c.schema.runTables()
	if c.schema.detailed {
		tables, err := collect[string](ctx, conn, "SELECT DISTINCT table_name FROM _smithers_output_schema_columns")
		if err != nil {
			return nil, &databaseError{err}
		}
		names = append(append(names, "_index_outputs"), tables...)
	}
	slices.Sort(names)
	return names, nil
}

// compareDigest records a flaw if the stored digest is not the digest of the indexed tips, or if a stored tip
// is not an object id.
func (c *checker) compareDigest(ctx context.Context, stored *sql.Conn) error {
	rows, err := collect[struct{ Ref, Tip string }](ctx, stored, "SELECT git_ref, git_tip FROM _smithers_runs")
	if err != nil {
		return &databaseError{err}
	}
	var d digest
	for _, row := range rows {
		tip, err := objstore.ParseID(row.Tip)
		if err != nil {
			c.note("", "the tip of run %v is %v, which is not an object id", row.Ref, row.Tip)
			return nil //nolint:nilerr // the bad tip is recorded as a flaw
		}
		d.add(row.Ref, tip)
	}
	says, err := storedDigest(ctx, stored)
	if errors.Is(err, errDamaged) || err == nil && says != d {
		c.note("", "the digest in table _index_state does not match the tips in table _smithers_runs")
	} else if err != nil {
		return &databaseError{err}
	}
	return nil
}

// compareRows compares the rows of one run in the table called name, and records the first difference. stored is the
// checked database. truth is the database in memory that was built from the refs.
func (c *checker) compareRows(ctx context.Context, runID, name string, stored, truth *sql.Conn) error {
	haveNext, endHave := iter.Pull2(runRowsOf(ctx, stored, name, runID))
	defer endHave()
	wantNext, endWant := iter.Pull2(runRowsOf(ctx, truth, name, runID))
	defer endWant()
	have, want, differs := 0, 0, 0
	for {
		one, err, more := haveNext()
		other, otherErr, moreOther := wantNext()
		switch {
		case err != nil || otherErr != nil:
			return errors.Join(err, otherErr)
		case !more && !moreOther && differs == 0:
			return nil
		case !more && !moreOther:
			c.note(runID, "row %d of table %s differs from the refs (the table has %d rows of the run, %d expected)", differs, name, have, want)
			return nil
		case differs == 0 && (more != moreOther || !one.equals(other)):
			differs = have + 1
		}
		if more {
			have++
		}
		if moreOther {
			want++
		}
	}
}

// fresh returns a database in memory with the same tables and its indexed runs. It has the rows of the given runs, and it may have those of
// other runs, too. have are the tips in the checked database. The base tables are those of the details if these are of
// the same tips. The caller closes the connection.
func (c *checker) fresh(ctx context.Context, runIDs []string, have map[string]string) (_ *sql.Conn, want map[string]string, err error) {
	if c.truth != nil {
		truth, want, err := c.connect(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(runIDs, func(id string) bool { return want[id] != have[id] }) {
			_, err = truth.ExecContext(ctx, "UPDATE _smithers_snapshots SET workflow_hash = NULL WHERE workflow_hash IS NOT NULL") // as in the base
			return truth, want, err
		}
		if err := errors.Join(truth.Close(), c.truth.Close()); err != nil {
			return nil, nil, err
		}
	}
	c.truth = newIndex(withDefaults(c.opts), c.schema)
	if c.schema.detailed || c.runIDs != nil {
		c.truth.asked = runIDs
	}
	if err := c.truth.conn.degrade(ctx, nil); err != nil { // degrade creates the database in memory
		return nil, nil, err
	}
	if _, err := c.truth.sync(ctx, nil); err != nil {
		return nil, nil, err
	}
	return c.connect(ctx)
}

// connect returns a connection to c.truth, and the tips of its runs.
func (c *checker) connect(ctx context.Context) (truth *sql.Conn, want map[string]string, err error) {
	if truth, err = c.truth.conn.db.Conn(ctx); err != nil {
		return nil, nil, &databaseError{err}
	}
	if want, err = indexedRuns(ctx, truth); err != nil {
		return nil, nil, errors.Join(err, truth.Close())
	}
	return truth, want, nil
}
