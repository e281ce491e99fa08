package smithers

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxTries is the maximum number of passes of an import. A pass is repeated if other processes append to the runs or
// write to the database.
const maxTries = 16

// errOvertaken returns an error with the code conflict. The error means that since the pass began, another process
// has created the run or has appended to the run. run is the id of the run.
func errOvertaken(run string) error {
	return fault.New(fault.Conflict, "another process is appending to run %q", run).Hint("run the import again")
}

// passes imports the runs in at most maxTries passes, and returns the combined result. It repeats a pass in two
// cases:
//   - Other processes appended to some of the runs. Then it repeats the pass for these runs. If this happens even in
//     the last pass, the run keeps the error conflict, unless an earlier pass changed the run.
//   - Smithers wrote to the database during the pass. Then it repeats the pass for all requested runs.
//
// If an error ends the import, passes also returns the result of the earlier passes, or nil.
func (im *importJob) passes(ctx context.Context, db *source.DB) (out *ImportResult, err error) {
	wanted := im.req.Runs
	for range maxTries {
		var one *ImportResult
		one, err = im.onePass(ctx, db)
		out = merged(out, one)
		if err != nil {
			if ctx.Err() != nil || !errors.Is(err, source.ErrOvertaken) {
				return out, err
			}
			im.req.Runs = wanted
			continue
		}
		if im.req.Runs = overtaken(one); len(im.req.Runs) == 0 {
			break
		}
	}
	return out, err
}

// onePass reads the tips of all runs, captures the working copies that a watch wants, and then imports the requested
// runs from one read transaction of db. It closes the working copies.
func (im *importJob) onePass(ctx context.Context, db *source.DB) (out *ImportResult, err error) {
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

// readTips returns the set of the ids of the tips of all runs. A broken ref is not an error: the set lacks its run.
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

// overtaken returns the ids of the runs that have the error conflict in pass, the result of one pass: another process
// appended to the run during the pass.
func overtaken(pass *ImportResult) (runs []string) {
	for _, run := range pass.Runs {
		if run.Err != nil && fault.CodeOf(run.Err) == fault.Conflict {
			runs = append(runs, run.RunID)
		}
	}
	return runs
}

// merged combines out, the result of the passes so far, with the result of a later pass. It changes and returns out. If
// both results have a run, mergedRun combines the two results of the run. Left comes from the later pass. If out or
// later is nil, merged returns the other one.
func merged(out, later *ImportResult) *ImportResult {
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

// mergedRun returns the combined result of two passes over one run. run is the result of the earlier pass, and later
// is the result of the later pass:
//   - If the earlier pass failed or changed nothing, mergedRun returns the later result.
//   - If the later pass failed with an error other than conflict, mergedRun returns the later result.
//   - If the later pass failed with conflict or changed nothing, mergedRun returns the earlier result.
//   - If both passes changed the run, mergedRun adds up the frames and the lists of both results.
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
