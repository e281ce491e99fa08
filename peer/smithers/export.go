package smithers

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/code"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// ExportRequest says what to export, and where to.
type ExportRequest struct {
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

// Exported is what an export did.
type Exported struct{ Runs []ExportedRun }

// ExportedRun is one run that was exported.
type ExportedRun struct {
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

// Export writes runs to a database, in one transaction, the oldest run first. Codes: run_exists
// where the database has one of them, and then nothing is written; export_refused where a run
// cannot be written as Smithers' are; invalid_database.
func Export(ctx context.Context, s *timeline.Store, req ExportRequest) (*Exported, error) {
	return exportPredicting(ctx, s, req, tables.Predict)
}

// exportPredicting is Export with a predictor.
func exportPredicting(ctx context.Context, s *timeline.Store, req ExportRequest, predict predictor) (*Exported, error) {
	runs, err := runsToExport(ctx, s, req.Runs)
	if err != nil {
		return nil, err
	}
	out := &Exported{Runs: []ExportedRun{}}
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

// CheckExport finds out, before there is a run to write, whether Export could write to a database, as far as
// that can be told without writing. Codes: database_not_found for a file in no folder; invalid_database.
func CheckExport(ctx context.Context, to string) error {
	if err := needFolder(to); err != nil {
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
func exportAll(ctx context.Context, s *timeline.Store, tx *source.WriteTx, req ExportRequest, predict predictor, runs []*exported, out *Exported) error {
	for _, run := range runs {
		has, err := tx.HasRun(run.row.ID)
		if err != nil {
			return err
		}
		if has {
			return fault.New(fault.RunExists, "%s has run %q already", req.To, run.row.ID).
				Hint("nothing was written; export it to another database, or fork it first").Detail("runId", run.row.ID)
		}
	}
	if err := ensureTables(tx, runs); err != nil {
		return cannotTake(req.To, err)
	}
	own, unowned, workflows := source.Schema(), unownedRows{}, code.Files{}
	for _, run := range runs {
		x := &exporting{
			exported: run, ctx: ctx, store: s, tx: tx, req: req, predict: predict, own: own, unowned: unowned, workflows: workflows,
		}
		frames, err := x.write()
		if err != nil {
			return refusedExport(run.row.ID, err)
		}
		out.Runs = append(out.Runs, x.exportedRun(frames))
	}
	return nil
}

// exported is a run that is exported.
type exported struct {
	tip      *snapshot.Entry
	row      snapshot.Run
	peer     *peer
	exact    bool                    // the tip is as it was imported
	imported bool                    // some of the run's own entries are from an import: what peer says about frames is about them
	schema   map[string]source.Table // those tables with rows of the run that are not exactly Smithers' own
}

// runsToExport reads the tips of runs, the oldest run first, each once. None is all that have anything of Smithers.
func runsToExport(ctx context.Context, s *timeline.Store, names []string) ([]*exported, error) {
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
	var out []*exported
	for _, name := range names {
		id, err := s.ResolveRun(ctx, name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(x *exported) bool { return x.row.ID == id }) {
			continue
		}
		head, err := s.Head(ctx, id)
		if err != nil {
			return nil, err
		}
		x, err := readExported(s, head.Entry())
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if has, err := x.tip.HasExt(engine); err != nil {
			return nil, timeline.Explain(err)
		} else if !has && all {
			continue
		}
		if err := x.readTables(ctx); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b *exported) int {
		return cmp.Or(cmp.Compare(a.row.CreatedAtMs, b.row.CreatedAtMs), cmp.Compare(a.row.ID, b.row.ID))
	})
	return out, nil
}

// readExported reads what a tip has of Smithers.
func readExported(s *timeline.Store, tip *snapshot.Entry) (*exported, error) {
	x := &exported{tip: tip}
	var err error
	if x.row, err = tip.RunRow(); err != nil {
		return nil, err
	}
	if x.peer, err = readPeer(tip); err != nil {
		return nil, err
	}
	objects := s.Objects()
	if x.imported = x.peer.Pass != (pass{}); x.imported && x.row.Parent != nil {
		parent, err := snapshot.ReadEntry(objects, x.row.Parent.Commit)
		if err != nil {
			return nil, err
		}
		has, err := readPass(parent)
		if err != nil {
			return nil, err
		}
		x.imported = has != x.peer.Pass
	}
	if !x.imported {
		return x, nil
	}
	// A watch was about to import the rest, or Smithers is to have what was answered here.
	x.exact = x.peer.Pass.Rows != "" && len(x.peer.Answers) == 0
	if !x.exact {
		return x, nil
	}
	walk := snapshot.NewWalk(objects, tip)
	for range 2 {
		entry, err := walk.Next()
		if err != nil {
			return nil, err
		}
		if entry == nil || entry == tip {
			continue
		}
		before, err := readPass(entry)
		if err != nil {
			return nil, err
		}
		x.exact = before != x.peer.Pass
	}
	return x, nil
}

// readPass reads how far the run of an entry was imported by then.
func readPass(e *snapshot.Entry) (pass, error) {
	var p pass
	data, err := e.ExtFile(engine, extPass)
	if err != nil || data == nil {
		return p, err
	}
	return p, decodeJSON(extPass, string(data), &p)
}
