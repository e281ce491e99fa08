package travel

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// restores plans to restore the files that the run had at an entry. It restores every working copy of the run or, if
// only is not nil, the one with that name ("" is the copy that the tasks share).
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
			err = fault.New(fault.NoWorkingCopy, "this is the worktree of task %q, not the working copy that the tasks of run %q share", w.Name, t.out.Run).
				Hint("run the command in the working copy in which the run was started")
		}
		if err != nil {
			return err
		}
		t.out.Worktrees = append(t.out.Worktrees, t.restoresIn(files, w.Name, &w.VCS))
	}
	return nil
}

// keepMissing adds to a draft the captured files of tasks' own worktrees that no longer exist here. resume recreates
// these worktrees from the draft.
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

// restoresShare reports whether the files that the tasks share would be restored into this task's own worktree.
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

// hintNoFiles adds the hint --no-vcs to an error that says that the files cannot be restored.
func (t *plan) hintNoFiles(err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if ok && (known.Code == fault.NoWorkingCopy || known.Code == fault.RestoreRefused || known.Code == fault.Unconfirmed) {
		return known.Hint("--no-vcs leaves the files as they are")
	}
	return err
}
