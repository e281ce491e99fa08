package smithers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// importJob brings the runs of one database up to date, pass by pass. For one goroutine at a time.
type importJob struct {
	store  *timeline.Store
	path   string // of the database
	req    ImportRequest
	limits snapshot.Limits
	tips   map[objstore.ID]bool // of all runs, as they were before the pass
	copies *workcopy.Finder     // of the pass; for a watch there are some before the first one
	failed map[string]error     // of the pass: why runs were refused
	made   []objstore.ID        // the entries of all passes
	own    map[string]source.Table

	// Of the pass: unknown tables that belong to no run. A pass of a watch over new frames reads them where it needs them.
	left     []dbrun.Unowned
	leftRead bool

	// Of a watch alone.
	memory   *memory
	thorough bool                   // without looking at what memory says of runs that have ended
	filesOf  []source.Row           // of _smithers_runs: whose files are captured before each pass
	upTo     map[string]source.Head // the newest frames of runs to which others were added; nil for a pass over all there is
	parents  map[string]bool        // of the pass over new frames: what runs were forked from that are not here yet
}

// manyEntries is the fewest entries that an import packs. The few entries of a watch are packed by later merges.
const manyEntries = 32

// pack stores the imported entries as deltas, since entries differ little from those before them. If that fails, the entries
// are there all the same.
func (im *importJob) pack(ctx context.Context) {
	if len(im.made) < manyEntries {
		return
	}
	if _, err := im.store.Objects().Seal(ctx, im.made, false); err != nil && ctx.Err() == nil {
		im.store.Warn(fmt.Errorf("what was imported takes more space than it has to: %w", err))
	}
}

func newImportJob(s *timeline.Store, path string, req ImportRequest) *importJob {
	own := make(map[string]source.Table)
	for _, t := range source.Schema() {
		own[t.Name] = t
	}
	return &importJob{store: s, path: path, req: req, limits: s.Settings().Limits, own: own}
}

// pass imports what a database has and the repository has not. Where an error ends it, what it did before is there, and is
// returned as well.
func (im *importJob) pass(ctx context.Context, tx *source.Tx) (_ *Imported, err error) {
	rows, err := tx.Runs()
	if err != nil {
		return nil, err
	}
	forks, err := dbrun.ReadForks(tx)
	if err != nil {
		return nil, err
	}
	out, sources := &Imported{}, dbrun.ParentsFirst(rows, forks, im.req.Runs)
	im.left, im.leftRead, im.failed = nil, false, make(map[string]error)
	if im.upTo == nil { // frames are made without
		out.Left, err = im.readUnowned(tx, rows)
	} else {
		im.parents = im.parentsOfNew(ctx, sources)
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

// passRun imports one run, unless it has to be refused; nil where a watch need not look at it. An error ends the pass.
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

// noSuchRun returns run_not_found for a run that the database does not have.
func noSuchRun(run string, rows []source.Row) error {
	const most = 3
	out := fault.New(fault.RunNotFound, "the database has no run %q", run).Detail("runId", run)
	if len(rows) == 0 {
		return out.Hint("it has none at all")
	}
	var ids []string
	for _, row := range rows[:min(len(rows), most)] {
		ids = append(ids, dbrow.TextOf(row, "run_id"))
	}
	if more := len(rows) - len(ids); more > 0 {
		return out.Hint("it has %s and %d more", strings.Join(ids, ", "), more)
	}
	return out.Hint("it has %s", strings.Join(ids, ", "))
}

// stopsImport reports whether an error concerns all runs.
func stopsImport(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, source.ErrBusy) {
		return true
	}
	code := fault.CodeOf(timeline.Explain(err))
	return slices.Contains([]fault.Code{fault.Interrupted, fault.DiskFull, fault.ReadOnly, fault.WriteFailed}, code)
}

// refused explains why a run is not imported.
func refused(run string, err error) error {
	if coded, ok := errors.AsType[*fault.Error](err); ok && coded.Code != fault.InvalidState && coded.Code != fault.LimitExceeded {
		return err
	}
	out := fault.New(fault.ImportRefused, "run %q cannot be imported: %w", run, err).Detail("runId", run)
	if errors.Is(err, snapshot.ErrLimit) {
		return out.Hint("`git config smithers.maxDepth` and smithers.maxValue raise the limits, as far as `git smithers help format` allows")
	}
	return out.Hint("the other runs of the database are imported, but not the forks of this one that are new")
}
