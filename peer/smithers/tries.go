package smithers

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxTries is the maximum number of passes of an import. A pass is repeated if other processes append to the runs or
// write to the database.
const maxTries = 16

// errOvertaken returns a conflict error: another process has created the run with the id run, or appended to
// it, since the pass began.
func errOvertaken(run string) error {
	return fault.New(fault.Conflict, "another process is appending to run %q", run).Hint("run the import again")
}

// passes imports the runs in at most maxTries passes, and returns the combined result. It repeats a pass for the
// runs to which other processes have appended. If Smithers has written to the database during a pass, it repeats
// the pass for all requested runs. A run to which other processes append even during the last pass keeps the
// error conflict. If an error ends the import, passes also returns the result before the error, or nil.
func (im *importJob) passes(ctx context.Context, db *source.DB) (out *Imported, err error) {
	wanted := im.req.Runs
	for range maxTries {
		var one *Imported
		one, err = im.onePass(ctx, db)
		out = merged(out, one)
		if err != nil {
			if ctx.Err() != nil || !errors.Is(err, source.ErrOvertaken) {
				return out, err
			}
			im.req.Runs = wanted
			continue
		}
		if im.req.Runs = overtaken(out); len(im.req.Runs) == 0 {
			break
		}
	}
	return out, err
}

// onePass reads the tips of all runs, captures the working copies that a watch wants, and then imports the requested
// runs from one read transaction of db. It closes the working copies.
func (im *importJob) onePass(ctx context.Context, db *source.DB) (out *Imported, err error) {
	// The tips must be read before the database. Then every imported row in a run is older than this pass's read of
	// the database. So if the database lacks such a row, Smithers has rewound the run.
	if im.tips, err = im.readTips(ctx); err != nil {
		return nil, err
	}
	err = im.captureFirst(ctx)
	if err == nil {
		err = db.Read(ctx, func(tx *source.Tx) error {
			out, err = im.pass(ctx, tx)
			return err
		})
	}
	return out, errors.Join(err, im.letGo())
}

// readTips returns the set of the tips of all runs. It leaves out runs with a broken ref.
func (im *importJob) readTips(ctx context.Context) (map[objstore.ID]bool, error) {
	list, err := im.store.Refs().Tips(ctx)
	if err != nil && !errors.Is(err, refs.ErrBroken) { // the import of a run reports the run's broken ref
		return nil, timeline.Explain(err)
	}
	tips := make(map[objstore.ID]bool, len(list))
	for _, tip := range list {
		tips[tip.ID] = true
	}
	return tips, nil
}

// overtaken returns the ids of the runs in out with the error conflict, because another process appended to the run
// during the import.
func overtaken(out *Imported) (runs []string) {
	for _, run := range out.Runs {
		if run.Err != nil && fault.CodeOf(run.Err) == fault.Conflict {
			runs = append(runs, run.RunID)
		}
	}
	return runs
}

// merged returns the combined result of out and the later pass. It changes out, and takes Left from later. If either
// result is nil, merged returns the other.
func merged(out, later *Imported) *Imported {
	switch {
	case out == nil:
		return later
	case later == nil:
		return out
	}
	out.Left = later.Left
	for _, run := range later.Runs {
		at := slices.IndexFunc(out.Runs, func(r ImportedRun) bool { return r.RunID == run.RunID })
		if at < 0 {
			out.Runs = append(out.Runs, run)
			continue
		}
		out.Runs[at] = mergedRun(out.Runs[at], run)
	}
	return out
}

// mergedRun returns the combined result of two passes over one run: run is the result of the earlier pass. If the
// earlier pass failed or changed nothing, the result is later. If the later pass failed with an error other than
// conflict, the result is also later. If it failed with conflict or changed nothing, the result is run. If both
// passes changed the run, the result has the frames and lists of both.
func mergedRun(run, later ImportedRun) ImportedRun {
	switch {
	case run.Err != nil || run.Outcome == OutcomeUnchanged:
		return later
	case later.Err != nil && fault.CodeOf(later.Err) != fault.Conflict:
		return later
	case later.Err != nil || later.Outcome == OutcomeUnchanged:
		return run
	}
	run.Frames, run.Frame, run.Tip = run.Frames+later.Frames, later.Frame, later.Tip
	run.Rewound, run.Rendered = run.Rewound || later.Rewound, max(run.Rendered, later.Rendered)
	run.Marks, run.Overruled = append(run.Marks, later.Marks...), append(run.Overruled, later.Overruled...)
	run.Dropped, run.Overtaken = append(run.Dropped, later.Dropped...), append(run.Overtaken, later.Overtaken...)
	return run
}
