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

// maxTries limits how often a run is imported again because other processes append to it.
const maxTries = 16

// errOvertaken returns the error that another process has created the run, or appended to it, since the pass began.
func errOvertaken(run string) error {
	return fault.New(fault.Conflict, "another process is appending to run %q", run).Hint("the run was not imported; import again")
}

// passes imports the runs. It imports again those runs to which other processes have appended meanwhile, or all runs
// if an engine has begun to write the database. With an error it returns the result so far, or nil.
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

// onePass reads the database once, and imports from it.
func (im *importJob) onePass(ctx context.Context, db *source.DB) (out *Imported, err error) {
	// All that is in a run now was read from the database before this pass reads it. So if the database has less, Smithers
	// went back.
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

// readTips reads the tips of all runs.
func (im *importJob) readTips(ctx context.Context) (map[objstore.ID]bool, error) {
	list, err := im.store.Refs().Tips(ctx)
	if err != nil && !errors.Is(err, refs.ErrBroken) { // a run with a broken ref reports it itself
		return nil, timeline.Explain(err)
	}
	tips := make(map[objstore.ID]bool, len(list))
	for _, tip := range list {
		tips[tip.ID] = true
	}
	return tips, nil
}

// overtaken returns the runs to which another process has appended meanwhile.
func overtaken(out *Imported) (runs []string) {
	for _, run := range out.Runs {
		if run.Err != nil && fault.CodeOf(run.Err) == fault.Conflict {
			runs = append(runs, run.RunID)
		}
	}
	return runs
}

// merged returns the combined result of two passes, or nil if both are nil.
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

// mergedRun returns the combined result of two passes over one run.
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
