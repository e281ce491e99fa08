// Package export writes runs to databases of Smithers. A run that is as it was imported comes back row by row; of any other
// run it writes what Smithers needs to restore the run from its newest snapshot.
package export

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/code"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// Request says what to export, and where to.
type Request struct {
	Runs []string // exact ids or unique prefixes; none for all that came from Smithers, with the forks of them
	To   string   // the database; made when it does not exist
	// Root is the folder that paths of the runs are in from now on, absolute; "" for where they are resumed: in the top
	// of the working copy there for a run that was in one, else in the folder itself.
	Root string
	// Dir is the folder that the runs are resumed in, absolute; "" for that which a run says, where Root has it, and else for Root, or
	// for the folder of the database without one.
	Dir string
	// Workflow is a workflow file with which Smithers resumes the exported runs, although it may
	// have changed or been moved since, absolute; "" for what the runs say. Forks of ours
	// are resumed with the file that their run names, as it is in Root now.
	Workflow string
	Progress func(run string, done, total int) // frames of a run; may be nil
}

// Result lists the runs that were exported.
type Result struct{ Runs []Run }

// Run is one run that was exported.
type Run struct {
	RunID  string `json:"runId"`
	Frames int64  `json:"frames"`
	// Exact reports whether the rows are those that were imported; otherwise Smithers restores the
	// run from its newest snapshot when it resumes it.
	Exact bool `json:"exact"`
	// Resumes reports whether Smithers resumes the run with the workflow file and in the folder that it names, as they
	// are now; nil where that cannot be told for certain. Refusals say why it does not.
	Resumes  *bool     `json:"resumes"`
	Refusals []Refusal `json:"refusals"`
	Finished bool      `json:"-"` // there is nothing to go on with
}

// Runs writes runs to a database in one transaction, the oldest run first. Codes: run_exists if the database has one of the
// runs, and then nothing is written; export_refused if a run cannot be written; invalid_database.
func Runs(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	return runsPredicting(ctx, s, req, tables.Predict)
}

// exportPredicting is Export with a predictor.
func runsPredicting(ctx context.Context, s *timeline.Store, req Request, predict predictor) (*Result, error) {
	runs, err := runsToExport(ctx, s, req.Runs)
	if err != nil {
		return nil, err
	}
	out := &Result{Runs: []Run{}}
	if len(runs) == 0 {
		return out, nil
	}
	err = source.Write(ctx, req.To, func(tx *source.WriteTx) error {
		out.Runs = out.Runs[:0]
		return exportAll(ctx, s, tx, req, predict, runs, out)
	})
	if err != nil {
		return nil, explainWrite(req.To, err)
	}
	return out, nil
}

// Check finds out, before there is a run to write, whether Runs could write to a database. It writes nothing. Codes:
// database_not_found for a file whose folder does not exist; invalid_database.
func Check(ctx context.Context, to string) error {
	if err := NeedFolder(to); err != nil {
		return err
	}
	if info, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil // it is made
	}
	db, err := source.Open(ctx, to)
	if err != nil {
		return explainWrite(to, err)
	}
	return db.Close()
}

// exportAll makes the tables and writes the runs.
func exportAll(ctx context.Context, s *timeline.Store, tx *source.WriteTx, req Request, predict predictor, runs []*exportedRun, out *Result) error {
	for _, run := range runs {
		has, err := tx.HasRun(run.Row.ID)
		if err != nil {
			return err
		}
		if has {
			return fault.New(fault.RunExists, "%s has run %q already", req.To, run.Row.ID).
				Hint("nothing was written; export it to another database, or fork it first").Detail("runId", run.Row.ID)
		}
	}
	if err := ensureTables(tx, runs); err != nil {
		return cannotTake(req.To, err)
	}
	own, unowned, workflows := source.Schema(), unownedRows{}, code.Files{}
	for _, run := range runs {
		x := &runExport{
			exportedRun: run, ctx: ctx, store: s, tx: tx, req: req, predict: predict, own: own, unowned: unowned, workflows: workflows,
		}
		frames, err := x.write()
		if err != nil {
			return refusedExport(run.Row.ID, err)
		}
		out.Runs = append(out.Runs, x.result(frames))
	}
	return nil
}

// exported is a run that is exported.
type exportedRun struct {
	*kept.Tip

	schema map[string]source.Table // those tables with rows of the run that are not exactly Smithers' own
}

// runsToExport reads the tips of the named runs, the oldest run first, each once. Without names it reads all runs that have
// anything of Smithers.
func runsToExport(ctx context.Context, s *timeline.Store, names []string) ([]*exportedRun, error) {
	all := len(names) == 0
	if all {
		known, err := list.Runs(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, run := range known {
			names = append(names, run.RunID)
		}
	}
	var out []*exportedRun
	for _, name := range names {
		id, err := s.ResolveRun(ctx, name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(x *exportedRun) bool { return x.Row.ID == id }) {
			continue
		}
		head, err := s.Head(ctx, id)
		if err != nil {
			return nil, err
		}
		tip, err := kept.ReadTip(s, head.Entry())
		if err != nil {
			return nil, timeline.Explain(err)
		}
		x := &exportedRun{Tip: tip}
		if has, err := x.Entry.HasExt(kept.Engine); err != nil {
			return nil, timeline.Explain(err)
		} else if !has && all {
			continue
		}
		if err := x.readTables(ctx); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b *exportedRun) int {
		return cmp.Or(cmp.Compare(a.Row.CreatedAtMs, b.Row.CreatedAtMs), cmp.Compare(a.Row.ID, b.Row.ID))
	})
	return out, nil
}
