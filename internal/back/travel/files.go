package travel

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// restores adds to the plan the restore of the files that the run had at earlier, an older entry. If copyName is
// nil, the restore covers every working copy of the run. Otherwise, it covers only the working copy with this
// name. The name "" means the working copy that the tasks share. If the worktree of a task no longer exists,
// restores adds it to t.missing and t.out.Missing instead. If the worktree of a task is the current working copy,
// into which the shared files are restored, the error is no_working_copy.
func (t *plan) restores(ctx context.Context, earlier *snapshot.Entry, copyName *string) error {
	vcs, err := earlier.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	if copyName == nil || *copyName == "" {
		if err := t.restoresShared(ctx, vcs); err != nil {
			return err
		}
	}
	if vcs == nil {
		return nil
	}
	for i := range vcs.Worktrees {
		w := &vcs.Worktrees[i]
		if w.Tree.IsZero() || copyName != nil && *copyName != w.Name {
			continue
		}
		files, err := files.WorktreeFiles(ctx, t.store, t.head, timeline.Address{Run: t.out.Run, Frame: t.out.To.Frame}, w.Name)
		if fault.CodeOf(err) == fault.NoWorkingCopy {
			t.out.Missing, t.missing = append(t.out.Missing, w.Name), append(t.missing, *w)
			continue
		}
		if err == nil && t.restoresShare(files) {
			err = fault.New(fault.NoWorkingCopy, "the current worktree belongs to task %q; this command needs the working copy that the tasks of run %q share",
				w.Name, t.out.Run).
				Hint("run the command in the working copy in which run %q was started", t.out.Run)
		}
		if err != nil {
			return err
		}
		t.out.Worktrees = append(t.out.Worktrees, t.restoresIn(files, w.Name, &w.VCS))
	}
	return nil
}

// keepMissing adds to draft the recorded files of the tasks' own worktrees in t.missing, so that resume
// recreates these worktrees.
func (t *plan) keepMissing(draft *snapshot.Draft) error {
	if len(t.missing) == 0 {
		return nil
	}
	vcs, err := draft.VCS, error(nil)
	if vcs == nil {
		vcs, err = t.head.Entry().VCSRevision()
	}
	for _, w := range t.missing {
		vcs = files.WithWorktree(vcs, w.Name, w.VCS)
	}
	draft.VCS = vcs
	return err
}

// restoresShare reports whether taskCopy, the worktree of one task, is the folder into which the plan restores the
// shared working copy. If the plan restores the shared working copy, this restore is the plan's first.
func (t *plan) restoresShare(taskCopy *files.WorkingCopy) bool {
	return len(t.files.All) > 0 && t.files.All[0].Name == "" && t.files.All[0].Copy.Root() == taskCopy.Root()
}

// restoresShared adds to the plan the restore of vcs into the working copy that the tasks share. If vcs has
// no files, restoresShared sets t.out.NoFiles instead.
func (t *plan) restoresShared(ctx context.Context, vcs *snapshot.VCS) error {
	if vcs == nil || vcs.Tree.IsZero() {
		t.out.NoFiles = "no files were captured for " + t.out.To.String()
		return nil
	}
	files, err := files.WorktreeFiles(ctx, t.store, t.head, timeline.Address{Run: t.out.Run, Frame: t.out.To.Frame}, "")
	if err != nil {
		return t.hintNoFiles(err)
	}
	t.out.Files = t.restoresIn(files, "", vcs)
	return nil
}

// restoresIn adds to the plan the restore of vcs into folder, a working copy, and returns the result that the restore
// fills in. name is the task that owns the working copy, or "" for the shared working copy.
func (t *plan) restoresIn(folder *files.WorkingCopy, name string, vcs *snapshot.VCS) *files.RestoreResult {
	out := &files.RestoreResult{From: t.out.To, VCS: vcs, Beside: vcs.Attempts}
	t.files.All = append(t.files.All, &files.RestoreJob{Store: t.store, Copy: folder, Name: name, Want: vcs, Stays: t.stays, Out: out})
	return out
}

// hintNoFiles returns err, with a hint that names --no-vcs if err means that the files cannot be restored.
func (t *plan) hintNoFiles(err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if ok && (known.Code == fault.NoWorkingCopy || known.Code == fault.RestoreRefused || known.Code == fault.Unconfirmed) {
		return known.Hint("add --no-vcs to leave the files unchanged")
	}
	return err
}
