package files

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RunWorktree is a worktree that a run made in this clone.
type RunWorktree struct {
	RunID   string `json:"runId"`
	Name    string `json:"name"`     // the task's id, "" for the run's own worktree, or the name of a checkout's workspace
	Path    string `json:"path"`     // absolute
	Branch  string `json:"branch"`   // "" if the worktree is on no branch, or is missing
	Commit  string `json:"commitId"` // the worktree's current commit; "" if unknown
	Missing bool   `json:"missing"`  // the worktree's folder is missing
	Unsaved string `json:"unsaved"`  // the reason why a prune keeps the worktree; "" if a prune removes the worktree
	Removed bool   `json:"removed"`  // PruneWorktrees has removed the worktree
	// Own reports whether the run made the branch, which [PruneOptions.Branches] deletes with the worktree unless Kept has a reason.
	Own  bool   `json:"ownBranch,omitempty"`
	Kept string `json:"branchKept,omitempty"`
}

// PruneOptions configure [PruneWorktrees].
type PruneOptions struct {
	DryRun   bool // remove nothing
	Branches bool // also delete the branches that runs made for the removed worktrees, unless commits would be lost
}

// Worktrees lists the worktrees that runs made in this clone and that were not removed, sorted by run, name and
// path. It includes worktrees whose folder is missing. Worktrees removes nothing.
func Worktrees(ctx context.Context, s *timeline.Store) ([]RunWorktree, error) {
	return pruneMade(ctx, s, PruneOptions{DryRun: true}, func(string) (bool, error) { return true, nil })
}

// PruneWorktrees removes the worktrees of runs, except worktrees with unsaved work. It returns all worktrees of these
// runs, the removed ones and the others. runs are whole ids. If runs is empty, PruneWorktrees takes all runs that are
// not running and that no live process owns.
//
// Unless opts.DryRun is true, PruneWorktrees first waits until no other process makes or prunes
// worktrees. Codes: run_not_found and run_pruned if a given run does not exist; run_owned if a live process owns it.
func PruneWorktrees(ctx context.Context, s *timeline.Store, runs []string, opts PruneOptions) (_ []RunWorktree, err error) {
	if !opts.DryRun {
		lock, err := lockMade(ctx, s)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	if len(runs) == 0 {
		return pruneMade(ctx, s, opts, func(run string) (bool, error) {
			running, err := isRunning(ctx, s, run)
			return !running, err
		})
	}
	named := make(map[string]bool)
	for _, run := range runs {
		id, err := s.ResolveRunToChange(ctx, run)
		if err != nil {
			return nil, err
		}
		head, err := s.Head(ctx, id)
		if err == nil {
			err = s.RefuseOwned(head.Row())
		}
		if err != nil {
			return nil, err
		}
		named[id] = true
	}
	return pruneMade(ctx, s, opts, func(run string) (bool, error) { return named[run], nil })
}

// isRunning reports whether the row of a run says that the run is running, or a live process owns the run. If the
// run does not exist, isRunning returns false.
func isRunning(ctx context.Context, s *timeline.Store, run string) (bool, error) {
	head, err := s.Head(ctx, run)
	switch {
	case err == nil:
		return head.Row().Status == snapshot.RunRunning || s.Owner(head.Row()).Live, nil
	case fault.CodeOf(err) == fault.RunNotFound:
		return false, nil
	}
	return false, err
}

// pruneMade returns the worktrees of the runs for which wanted returns true, sorted by run, name and path. Unless
// opts.DryRun is true, pruneMade removes the worktrees without unsaved work. An error of wanted ends pruneMade.
func pruneMade(ctx context.Context, s *timeline.Store, opts PruneOptions, wanted func(run string) (bool, error)) ([]RunWorktree, error) {
	all, err := allMade(s)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	out := []RunWorktree{}
	if len(all) == 0 {
		return out, nil
	}
	list, err := worktrees.List(ctx, s.Workspace())
	if err != nil {
		return nil, timeline.Explain(err)
	}
	slices.SortFunc(all, func(a, b madeWorktree) int {
		return cmp.Or(strings.Compare(a.Run, b.Run), strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	})
	var removed worktrees.Removed
	for _, made := range all {
		ok, err := wanted(made.Run)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		one, err := pruneOne(ctx, s, made, list, &removed, opts)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// pruneOne returns the state of the worktree of a record. Unless opts.DryRun is true, pruneOne removes the worktree and
// its record if the worktree has no unsaved work. list has the worktrees that git or jj knows. If list does not
// have the worktree, its folder is kept; if the folder is missing, only the record is removed. What goes is added to removed.
func pruneOne(ctx context.Context, s *timeline.Store, made madeWorktree, list []worktrees.Info, removed *worktrees.Removed, opts PruneOptions) (RunWorktree, error) {
	out := RunWorktree{RunID: made.Run, Name: made.Name, Path: made.Path, Missing: isMissing(made.Path), Own: made.Own}
	info, known := workspaceAt(list, made.Path)
	out.Branch, out.Commit = info.Branch, info.CommitID
	unborn := false
	if made.Begun && !out.Missing {
		var err error
		if unborn, err = removeUnborn(ctx, s, made.Path, opts.DryRun); err != nil {
			return out, timeline.Explain(err)
		}
	}
	var saved objstore.ID // jj has the files in a change, which has the bookmark
	if opts.Branches && made.Own && known && !out.Missing && s.Workspace().Type == snapshot.VCSJJ {
		if tree, kept, err := keptTree(ctx, s, made); err == nil && kept {
			saved = tree
		}
	}
	switch {
	case unborn:
	case known:
		reason, err := remove(ctx, s, made, info, opts.DryRun)
		if err != nil {
			return out, err
		}
		out.Unsaved = reason
	case !out.Missing:
		out.Unsaved = "is no longer a worktree of this repository"
	}
	if out.Unsaved != "" {
		return out, nil
	}
	removed.Paths = append(removed.Paths, made.Path)
	if opts.Branches && made.Own {
		var err error
		if out.Kept, err = worktrees.DropBranch(ctx, s.Workspace(), made.Branch, removed, saved, opts.DryRun); err != nil {
			return out, timeline.Explain(err)
		}
	}
	if opts.DryRun {
		return out, nil
	}
	out.Removed = true
	return out, timeline.Explain(dropMade(s, made))
}

// removeUnborn removes the worktree at path and returns true, if its making was cut off before it had a file. With dryRun, it only
// checks that.
func removeUnborn(ctx context.Context, s *timeline.Store, path string, dryRun bool) (bool, error) {
	if dryRun {
		return worktrees.IsUnborn(ctx, s.Workspace(), path)
	}
	return worktrees.DropUnborn(ctx, s.Workspace(), path)
}

// remove removes a worktree without unsaved work. With dryRun, it only checks whether the worktree can be removed.
// made is the record of the worktree, and info is the state of the worktree in git or jj. Uncommitted files do not
// count as unsaved work if the worktree began with them or a run's tip has them (see keptTree). If the worktree was or
// can be removed, reason is "". Otherwise, reason says why the worktree is kept. err is nil unless ctx has ended.
func remove(ctx context.Context, s *timeline.Store, made madeWorktree, info worktrees.Info, dryRun bool) (reason string, err error) {
	act := func(saved objstore.ID) error {
		if dryRun {
			return worktrees.CheckRemoval(ctx, s.Workspace(), info, saved)
		}
		return worktrees.Forget(ctx, s.Workspace(), info, saved)
	}
	if err = checkMadePrograms(ctx, s, made); err == nil {
		err = act(objstore.ID{})
	}
	// Uncommitted files are no unsaved work if a frame keeps the same files.
	if errors.Is(err, worktrees.ErrUnsaved) {
		tree, kept, keptErr := keptTree(ctx, s, made)
		if keptErr != nil {
			err = keptErr
		} else if kept {
			err = act(tree)
		}
	}
	var unsaved *worktrees.UnsavedError
	var refused *worktrees.Error
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil, fault.CodeOf(err) == fault.UntrustedFiles && !dryRun:
		return "", timeline.Explain(err)
	case errors.As(err, &unsaved):
		return unsaved.Reason, nil
	case errors.As(err, &refused):
		return refused.Reason, nil
	}
	// An unreadable worktree is kept, and must not stop the prune of the other worktrees.
	return "cannot be read: " + err.Error(), nil
}

// checkMadePrograms returns untrusted_files if git could run a program among the files of a stranger's run while it reads the worktree of a record.
func checkMadePrograms(ctx context.Context, s *timeline.Store, made madeWorktree) error {
	head, err := s.Head(ctx, made.Run)
	if err != nil || made.Tree.IsZero() || isMissing(made.Path) {
		return nil //nolint:nilerr // nothing is known of a run that is not here
	}
	files, err := WorkingCopyAt(ctx, s, made.Path)
	if err != nil {
		return err
	}
	stranger, err := distrusted(s, files.workspace, head.Entry())
	if err == nil {
		err = checkPrograms(ctx, stranger, files.workspace, func() ([]string, error) { return changedFromOwn(ctx, s, made.Tree) }, made.Tree)
	}
	return err
}

// keptTree returns the tree of a worktree's current files, and reports whether these files exist elsewhere: the
// worktree began with exactly these files, or the tip of a run has them.
func keptTree(ctx context.Context, s *timeline.Store, made madeWorktree) (tree objstore.ID, kept bool, err error) {
	files, err := WorkingCopyAt(ctx, s, made.Path)
	if err != nil {
		return tree, false, err
	}
	files.workspace.NoMonitor = true // it may be among the files of a stranger's run
	now, err := files.read(ctx, snapshot.ScopeAll)
	if err != nil {
		return tree, false, err
	}
	tree = now.VCS.Tree
	if err := now.Close(); err != nil {
		return tree, false, err
	}
	if tree == made.Tree {
		return tree, true, nil
	}
	tips, err := s.Refs().Tips(ctx)
	// If a run with a broken tip ref alone has the files, the worktree is kept.
	if err != nil && !errors.Is(err, refs.ErrBroken) {
		return tree, false, err
	}
	for _, tip := range tips {
		if tipHas(s, tip.ID, tree) {
			return tree, true, nil
		}
	}
	return tree, false, nil
}

// tipHas reports whether the entry with the id tip has the files of tree, in the run's working copy or in a task's
// own worktree. If the entry is unreadable, tipHas returns false; verify reports such an entry.
func tipHas(s *timeline.Store, tip, tree objstore.ID) bool {
	entry, err := snapshot.ReadEntry(s.Objects(), tip)
	if err != nil {
		return false
	}
	vcs, err := entry.VCSRevision()
	if err != nil || vcs == nil {
		return false
	}
	return vcs.Tree == tree || slices.ContainsFunc(vcs.Worktrees, func(w snapshot.Worktree) bool { return w.Tree == tree })
}
