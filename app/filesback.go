package app

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// filesBack restores the files of a run's newest frame before the run continues: the files that its tasks share, and the
// worktrees of tasks. It skips missing worktrees, because the run makes them with the frame's files.
type filesBack struct {
	*Desk
	from    timeline.Address
	names   []string            // of working copies: "" is the working copy that tasks share
	file    string              // the workflow file, which is not restored; "" for none
	confirm code.ConfirmRemoval // nil: untracked files are removed unasked
	done    []*code.Restored
}

// newFilesBack returns the filesBack for the working copies of a run's newest frame.
func newFilesBack(d *Desk, head *timeline.Head, confirm code.ConfirmRemoval) (*filesBack, error) {
	vcs, err := head.Entry().VCSRevision()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	back := &filesBack{
		Desk: d, confirm: confirm, names: []string{""}, from: timeline.Address{Run: head.Row().ID, Frame: head.Row().Frame},
	}
	if vcs == nil {
		vcs = new(snapshot.VCS)
	}
	for _, w := range vcs.Worktrees {
		back.names = append(back.names, w.Name)
	}
	return back, nil
}

// check refuses the restore if a file stands in its way, before anything is written. It checks nothing if b is nil or
// no task of the run is left.
func (b *filesBack) check(ctx context.Context, head *timeline.Head, wf *workflow.Workflow, opts engine.Options) error {
	if b == nil {
		return nil
	}
	if left, err := engine.Check(head, wf, opts); err != nil || !left {
		return nil //nolint:nilerr // claiming the run reports the error
	}
	_, err := b.each(ctx, true, nil)
	return err
}

// bring restores the files, and notes each working copy that it restored.
func (b *filesBack) bring(ctx context.Context) (err error) {
	b.done, err = b.each(ctx, false, b.confirm)
	for _, one := range b.done {
		b.Teller.Note(ctx, BroughtBackNote{one})
	}
	return err
}

// each restores one working copy after the other; with dryRun nothing is written.
func (b *filesBack) each(ctx context.Context, dryRun bool, confirm code.ConfirmRemoval) ([]*code.Restored, error) {
	var out []*code.Restored
	for _, name := range b.names {
		done, err := code.Restore(ctx, b.Store, code.RestoreRequest{
			From: b.from.String(), Worktree: name, DryRun: dryRun, File: b.file, Confirm: confirm,
		})
		if known, ok := errors.AsType[*fault.Error](err); ok && known.Code == fault.NoWorkingCopy && b.isMade(name) {
			continue
		}
		if err != nil {
			return out, err
		}
		out = append(out, done)
	}
	return out, nil
}

// isMade reports whether the run itself makes the missing working copy: a task's worktree always, the shared one if the
// command runs in a working copy.
func (b *filesBack) isMade(name string) bool { return name != "" || b.Store.Workspace().Root != "" }
