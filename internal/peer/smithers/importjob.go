package smithers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// importJob is an import of the runs of one database, in one or more passes. An importJob must be used by one
// goroutine at a time.
type importJob struct {
	store  *timeline.Store
	path   string // the path of the database
	req    ImportRequest
	limits snapshot.Limits
	tips   map[objstore.ID]bool    // the tips of all runs before the pass
	copies *workcopy.Finder        // the working copies of the pass; a watch captures some before the pass
	others []string                // the indexes, triggers and views of the database that an export does not create
	failed map[string]error        // the reasons of the runs refused in this pass, by run id
	made   []objstore.ID           // the entries of all passes
	own    map[string]source.Table // the tables of Smithers 0.32.0, by name

	left []dbrun.UnownedTable // the rows of unknown tables that belong to no single run

	// Only a watch uses the following fields.
	memory   *memory
	thorough bool                   // the pass reads ended runs again, even if memory has the runs
	filesOf  []source.Row           // rows of _smithers_runs: the runs whose files are captured before the pass
	upTo     map[string]source.Head // the newest frames of the runs with new frames; nil for a pass over the whole database
}

// manyEntries is the minimum number of new entries that pack packs. An import with fewer entries, such as a pass of a
// watch, leaves the packing to a later merge.
const manyEntries = 32

// pack packs the new entries as deltas, because consecutive entries differ little. It does nothing for fewer than
// manyEntries entries. If the packing fails, pack warns: the entries are stored, but take more space.
func (im *importJob) pack(ctx context.Context) {
	if len(im.made) < manyEntries {
		return
	}
	if _, err := im.store.Objects().Seal(ctx, im.made, false); err != nil && ctx.Err() == nil {
		im.store.Warn(fmt.Errorf("the imported runs could not be packed and take more space than needed: %w", err))
	}
}

// warnOfOthers warns of the indexes, triggers and views that are not imported. They may come from a version of Smithers
// that is newer than 0.32.0. A trigger that ran in an export could do anything there, so none is created.
func (im *importJob) warnOfOthers() {
	const most = 5
	names := im.others
	if len(names) == 0 {
		return
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	im.store.Warn(fmt.Errorf("an export will not have what Smithers 0.32.0 does not create: %s%s", strings.Join(names, ", "), more))
}

// newImportJob returns an importJob for the database at path, with the limits of the store's settings and without the
// fields of a watch.
func newImportJob(s *timeline.Store, path string, req ImportRequest) *importJob {
	own := make(map[string]source.Table)
	for _, t := range source.Schema() {
		own[t.Name] = t
	}
	return &importJob{store: s, path: path, req: req, limits: s.Settings().Limits, own: own}
}

// pass imports the requested runs from one read transaction of the database. The result has one ImportedRun for each
// run, without runs that a watch skips. If an error ends the pass, pass returns the error with the runs imported
// before the error, which stay in the repository. The result is nil if the pass ended before the first run.
func (im *importJob) pass(ctx context.Context, tx *source.Tx) (_ *ImportResult, err error) {
	rows, err := tx.Runs()
	if err != nil {
		return nil, err
	}
	forks, err := dbrun.ReadForks(tx)
	if err != nil {
		return nil, err
	}
	out, sources := &ImportResult{}, dbrun.ParentsFirst(rows, forks, im.req.Runs)
	im.failed = make(map[string]error)
	if out.Left, err = im.readUnowned(ctx, tx, rows); err == nil && im.memory == nil {
		im.others, err = tx.Others()
	}
	if err != nil {
		return nil, err
	}
	if im.copies == nil {
		if im.copies, err = workcopy.NewFinder(ctx, im.store); err != nil {
			return nil, timeline.Explain(err)
		}
		im.copies.Database = im.path
	}
	defer func() { err = errors.Join(err, im.letGo()) }()
	for _, at := range sources {
		if at.Row == nil {
			out.Runs = append(out.Runs, ImportedRun{RunID: at.ID, Outcome: OutcomeRefused, Err: noSuchRun(at.ID, rows)})
			continue
		}
		one, err := im.passRun(ctx, tx, at)
		if one != nil {
			out.Runs = append(out.Runs, *one)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// passRun imports one run. from has the run's row. If passesOver skips the run, the result is nil. If the run cannot be
// imported, but the other runs can, passRun returns a refused run with the reason in Err and no error. It also adds the
// reason to im.failed.
//
// If passRun returns an error, the error ends the pass. If the run was imported before the error, passRun returns the
// run together with the error.
func (im *importJob) passRun(ctx context.Context, tx *source.Tx, from dbrun.RunRow) (*ImportedRun, error) {
	over, err := im.passesOver(tx, from)
	if over || err != nil {
		return nil, err
	}
	var one ImportedRun
	if err = im.refuseOrphan(ctx, from); err == nil {
		one, err = im.importRun(ctx, tx, from)
	}
	imported := err == nil
	if imported {
		err = im.settle(tx, from)
	}
	switch {
	case err == nil:
		return &one, nil
	case !stopsImport(ctx, err):
		im.failed[from.ID] = refused(from.ID, err)
		return &ImportedRun{RunID: from.ID, Outcome: OutcomeRefused, Err: im.failed[from.ID]}, nil
	case imported:
		return &one, err
	}
	return nil, err
}

// noSuchRun returns the error run_not_found for the id run, which the database does not have. rows has the
// database's runs. A hint names at most three of these runs and counts the others.
func noSuchRun(run string, rows []source.Row) error {
	const most = 3
	out := fault.New(fault.RunNotFound, "the database has no run %q", run).Detail("runId", run)
	if len(rows) == 0 {
		return out.Hint("the database has no runs")
	}
	var ids []string
	for _, row := range rows[:min(len(rows), most)] {
		ids = append(ids, dbrow.TextOf(row, "run_id"))
	}
	if more := len(rows) - len(ids); more > 0 {
		return out.Hint("name a run of the database: %s or one of %d more", strings.Join(ids, ", "), more)
	}
	return out.Hint("name a run of the database: %s", strings.Join(ids, ", "))
}

// stopsImport reports whether err, an error of one run's import, ends the import of all runs. It returns true
// if ctx has ended, if the database is locked, or if the repository cannot be written.
func stopsImport(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, source.ErrBusy) {
		return true
	}
	code := fault.CodeOf(timeline.Explain(err))
	return slices.Contains([]fault.Code{fault.Interrupted, fault.DiskFull, fault.ReadOnly, fault.WriteFailed}, code)
}

// refused returns the error for a run that was refused because of err. If err has an error code other than
// invalid_state and limit_exceeded, the code tells the reason, and refused returns err. Otherwise refused returns
// import_refused with err as the cause. A hint is about the limits or about the other runs.
func refused(run string, err error) error {
	if coded, ok := errors.AsType[*fault.Error](err); ok && coded.Code != fault.InvalidState && coded.Code != fault.LimitExceeded {
		return err
	}
	out := fault.New(fault.ImportRefused, "run %q cannot be imported: %w", run, err).Detail("runId", run)
	if errors.Is(err, snapshot.ErrLimit) {
		return out.Hint("raise smithers.maxDepth or smithers.maxValue with `git config`").
			Hint("`git smithers help format` lists the greatest possible limits")
	}
	return out.Hint("the other runs of the database are imported, except new forks of run %q", run)
}
