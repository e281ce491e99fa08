// Package export writes runs to databases of Smithers. A run that is unchanged since its import is restored row by
// row. For any other run it writes the rows that Smithers needs to restore the run from its newest snapshot.
package export

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/code"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Request describes an export.
type Request struct {
	Runs []string // exact ids or unique prefixes; empty means all runs that came from Smithers, and their forks
	To   string   // the path of the database, which Runs creates if it does not exist
	// Root is the absolute path of the folder that contains the exported runs' paths. "" means the folder in
	// which the runs are resumed. For a run that was in a working copy, "" means the top of the working copy
	// that contains this folder.
	Root string
	// Dir is the absolute path of the folder in which the runs are resumed. "" means the folder that the run names,
	// if that folder is in Root and exists. Otherwise "" means Root, or the folder of the database if Root is "".
	Dir string
	// Workflow is the absolute path of a workflow file with which Smithers can resume the exported runs, even
	// if the file has changed or moved. "" means the files that the runs name. If Workflow is "", Smithers
	// resumes a run that has changed since its import with the present content of the run's file in Root.
	Workflow string
	Progress func(run string, done, total int) // called after each frame of a run, with counts of frames; may be nil
}

// Result lists the exported runs.
type Result struct {
	Runs    []Run
	Retries int64 // how often the write was tried before, because an engine had the database locked
}

// Run is one exported run.
type Run struct {
	RunID  string `json:"runId"`
	Frames int64  `json:"frames"` // the number of written frames
	// Exact means that the written rows are exactly the imported rows. Otherwise Smithers restores the run from the
	// run's newest snapshot when Smithers resumes the run.
	Exact bool `json:"exact"`
	// Resumes means that Smithers can now resume the run with the workflow file and in the folder that the run
	// names. It is nil if this is unknown. Refusals has the reasons why Smithers cannot resume the run.
	Resumes  *bool     `json:"resumes"`
	Refusals []Refusal `json:"refusals"`
	Finished bool      `json:"-"` // the run is complete, so nothing is left to resume
}

// Runs writes the requested runs to a database in one transaction, oldest run first, and returns the runs in
// this order. It creates missing tables. If Runs returns an error, it has written nothing. The error's code is
// run_exists if the database has one of the runs, and export_refused if a run cannot be written. The code is
// locked if the database is busy, and invalid_database if the file is not a sound database of Smithers.
func Runs(ctx context.Context, s *timeline.Store, req Request) (*Result, error) {
	runs, err := runsToExport(ctx, s, req.Runs)
	if err != nil {
		return nil, err
	}
	out := &Result{Runs: []Run{}}
	if len(runs) == 0 {
		return out, nil
	}
	err = source.Write(ctx, req.To, func(tx *source.WriteTx) error {
		out.Runs, out.Retries = out.Runs[:0], tx.Retries
		return exportAll(ctx, s, tx, req, runs, out)
	})
	if err != nil {
		return nil, explainWrite(req.To, err)
	}
	return out, nil
}

// Check returns an error if Runs could not write to the database at path. It writes nothing, so a caller can
// check the database before a run exists. A missing or empty file is not an error. The error's code is
// database_not_found if the folder of the file does not exist, and invalid_database if the file is not a
// database of Smithers.
func Check(ctx context.Context, path string) error {
	if err := NeedFolder(path); err != nil {
		return err
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil // Runs creates the database
	}
	db, err := source.Open(ctx, path)
	if err != nil {
		return explainWrite(path, err)
	}
	return db.Close()
}

// exportAll creates the missing tables, writes runs, and adds the results to out. If the database already has
// one of the runs, exportAll writes nothing, and the error's code is run_exists. cannotTake explains an error
// about the tables, and refusedExport explains an error about a run.
func exportAll(ctx context.Context, s *timeline.Store, tx *source.WriteTx, req Request, runs []*exportedRun, out *Result) error {
	for _, run := range runs {
		has, err := tx.HasRun(run.Row.ID)
		if err != nil {
			return err
		}
		if has {
			return fault.New(fault.RunExists, "%s already has run %q", req.To, run.Row.ID).
				Hint("nothing was written; export the run to another database, or fork the run and export the fork").Detail("runId", run.Row.ID)
		}
	}
	if err := ensureTables(tx, runs); err != nil {
		return cannotTake(req.To, err)
	}
	own, unowned, workflows := source.Schema(), unownedRows{}, code.Files{}
	for _, run := range runs {
		x := &runExport{
			exportedRun: run, ctx: ctx, store: s, tx: tx, req: req, own: own, unowned: unowned, workflows: workflows,
		}
		frames, err := x.write()
		if err != nil {
			return refusedExport(run.Row.ID, err)
		}
		out.Runs = append(out.Runs, x.result(frames))
	}
	if err := writeCache(ctx, s, tx, unowned, runs); err != nil || len(req.Runs) > 0 {
		return err
	}
	return writeRepositoryRows(ctx, s, tx, unowned)
}

// exportedRun is a run to export.
type exportedRun struct {
	*stored.Tip

	kept   *snapshot.Entry         // the entry whose ext/smithers has the rows of the run's last import
	schema map[string]source.Table // tables with rows of the run that differ from Smithers' own tables
}

// keptAt returns the entry that keeps the rows of the run's last import, or of its parent's, if the run is a fork that was
// never imported: the tip itself or, if an earlier version imported the parent before the fork was made, the parent's
// tip. The error's code is older_format if the parent, or the run, was not imported again since then.
func keptAt(ctx context.Context, s *timeline.Store, tip *stored.Tip) (*snapshot.Entry, error) {
	if !tip.Peer.Pass.IsOlder() {
		return tip.Entry, nil
	}
	if tip.Imported || tip.Row.Parent == nil {
		return nil, olderForm(tip.Row.ID)
	}
	head, err := s.Head(ctx, tip.Row.Parent.RunID)
	if fault.CodeOf(err) == fault.RunNotFound {
		return nil, olderForm(tip.Row.ID)
	}
	if err != nil {
		return nil, err
	}
	parent, err := stored.ReadTip(s, head.Entry())
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return keptAt(ctx, s, parent)
}

// runsToExport returns the named runs with their tips, oldest run first, each run once. names has ids of runs,
// or unique prefixes of ids. If names is empty, runsToExport returns all runs that have data of Smithers.
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
		tip, err := stored.ReadTip(s, head.Entry())
		if err != nil {
			return nil, timeline.Explain(err)
		}
		x := &exportedRun{Tip: tip}
		// A run that the user names is exported even if Smithers never had the run.
		if has, err := x.Entry.HasExt(stored.Engine); err != nil {
			return nil, timeline.Explain(err)
		} else if !has && all {
			continue
		}
		if x.kept, err = keptAt(ctx, s, tip); err != nil {
			return nil, err
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
