package app

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// filesBack restores the files of a run's newest frame before the run continues: the files that its tasks share,
// and the worktrees of tasks. It skips missing worktrees, because the run makes them with the files of the frame.
type filesBack struct {
	*Desk
	from    timeline.Address
	names   []string               // the working copies: the names of tasks' worktrees, and "" for the shared working copy
	file    string                 // the workflow file, which is not restored; "" for none
	confirm files.ConfirmRemoval   // nil: untracked files are removed unasked
	done    []*files.RestoreResult // what bring has restored
}

// newFilesBack returns the filesBack for all working copies that the newest frame of head has. If confirm is not nil,
// it is called before untracked files are removed. If confirm is nil, untracked files are removed without a question.
// The caller must set the field file, the file that is not restored.
func newFilesBack(d *Desk, head *timeline.Head, confirm files.ConfirmRemoval) (*filesBack, error) {
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

// check does a dry run of the restore, and returns the error with which the restore would fail. It writes nothing. head
// is the tip of the run, and wf is the workflow with which the run continues.
//
// check returns nil without a dry run in three cases: b is nil, the run has no work left, or engine.Check returns an
// error. claimIfLeft reports this last error.
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

// bring restores the files, and sets b.done to the restored working copies. It passes a note about each restored
// working copy to the teller, even if another working copy could not be restored.
func (b *filesBack) bring(ctx context.Context) (err error) {
	b.done, err = b.each(ctx, false, b.confirm)
	for _, one := range b.done {
		b.Teller.Note(ctx, BroughtBackNote{one})
	}
	return err
}

// each restores the working copies in b.names, in this order. It stops at the first error, and then returns the error
// together with the working copies that it has restored. A missing working copy is not an error if the run itself makes
// it: each skips this working copy.
//
// If dryRun is true, each writes nothing. If confirm is not nil, it is called before untracked files are removed; if
// confirm is nil, they are removed without a question.
func (b *filesBack) each(ctx context.Context, dryRun bool, confirm files.ConfirmRemoval) ([]*files.RestoreResult, error) {
	var out []*files.RestoreResult
	for _, name := range b.names {
		done, err := files.Restore(ctx, b.Store, files.RestoreRequest{
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

// isMade reports whether the run itself makes a missing working copy. name is the name of the task that has the working
// copy, or "" for the working copy that tasks share. The run always makes the worktree of a task. It makes the shared
// working copy if the command was called in a working copy.
func (b *filesBack) isMade(name string) bool { return name != "" || b.Store.Workspace().Root != "" }
