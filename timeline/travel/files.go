package travel

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// restores plans to restore the files that the run had at an entry: in all its working
// copies or, where only names one, in that.
func (t *plan) restores(ctx context.Context, then *snapshot.Entry, only *string) error {
	vcs, err := then.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	if only == nil || *only == "" {
		if err := t.restoresShared(ctx, vcs); err != nil {
			return err
		}
	}
	if vcs == nil {
		return nil
	}
	for i := range vcs.Worktrees {
		w := &vcs.Worktrees[i]
		if w.Tree.IsZero() || only != nil && *only != w.Name {
			continue
		}
		files, err := code.WorktreeFiles(ctx, t.store, t.head, timeline.Address{Run: t.out.Run, Frame: t.out.To.Frame}, w.Name)
		if fault.CodeOf(err) == fault.NoWorkingCopy {
			t.out.Missing, t.missing = append(t.out.Missing, w.Name), append(t.missing, *w)
			continue
		}
		if err == nil && t.restoresShare(files) {
			err = fault.New(fault.NoWorkingCopy, "this is the worktree of task %q: the files that the tasks of run %q share are elsewhere", w.Name, t.out.Run).
				Hint("call it in the working copy that the run was started in")
		}
		if err != nil {
			return err
		}
		t.out.Worktrees = append(t.out.Worktrees, t.restoresIn(files, w.Name, &w.VCS))
	}
	return nil
}

// keepMissing puts into a draft what tasks' own worktrees had then that are not here: resume makes them anew with that.
func (t *plan) keepMissing(draft *snapshot.Draft) error {
	if len(t.missing) == 0 {
		return nil
	}
	vcs, err := draft.VCS, error(nil)
	if vcs == nil {
		vcs, err = t.head.Entry().VCSRevision()
	}
	for _, w := range t.missing {
		vcs = code.WithWorktree(vcs, w.Name, w.VCS)
	}
	draft.VCS = vcs
	return err
}

// restoresShare reports whether the files that tasks share would be restored in a task's own worktree.
func (t *plan) restoresShare(own *code.WorkingCopy) bool {
	return len(t.files.All) > 0 && t.files.All[0].Name == "" && t.files.All[0].Copy.Root() == own.Root()
}

// restoresShared plans to restore the files that the run's tasks share.
func (t *plan) restoresShared(ctx context.Context, vcs *snapshot.VCS) error {
	if vcs == nil || vcs.Tree.IsZero() {
		t.out.NoFiles = "no files were captured for " + t.out.To.String()
		return nil
	}
	files, err := code.WorktreeFiles(ctx, t.store, t.head, timeline.Address{Run: t.out.Run, Frame: t.out.To.Frame}, "")
	if err != nil {
		return t.hintNoFiles(err)
	}
	t.out.Files = t.restoresIn(files, "", vcs)
	return nil
}

// restoresIn plans to restore the files of one working copy.
func (t *plan) restoresIn(files *code.WorkingCopy, name string, vcs *snapshot.VCS) *code.Restored {
	out := &code.Restored{From: t.out.To, VCS: vcs, Beside: vcs.Attempts}
	t.files.All = append(t.files.All, &code.RestoreJob{Store: t.store, Copy: files, Name: name, Want: vcs, Stays: t.stays, Out: out})
	return out
}

// hintNoFiles tells how to go back without the files that cannot be restored.
func (t *plan) hintNoFiles(err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if ok && (known.Code == fault.NoWorkingCopy || known.Code == fault.RestoreRefused || known.Code == fault.Unconfirmed) {
		return known.Hint("--no-vcs leaves the files as they are")
	}
	return err
}
