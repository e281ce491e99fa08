package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WorktreeSpec describes the worktree that a workflow or a task asks for.
type WorktreeSpec struct {
	Name   string // the name in vcs.json and worktrees/<name>: the task's id, or "" for the workflow's own worktree
	Path   string // relative to the top of the working copy, or absolute; "" chooses a path beside the working copy
	Branch string // the branch of a new worktree; "" means no branch
	Base   string // the branch or commit on which the worktree builds; "" means main
	// Fill fills a new worktree with the files that the run's newest frame has of the worktree, on the commit of these
	// files. If the frame has no such files, the files are those of the base.
	Fill bool
	// Setup is the workflow's own command that sets a new worktree up; "" means the user's own.
	Setup string
}

// OpenWorktree opens the worktree that the run with the id run made for spec.Name. If the run has made no such
// worktree, OpenWorktree makes the worktree. If the run made the worktree and its folder is missing, OpenWorktree makes
// the worktree again at the same path. If rebase is true, OpenWorktree rebases an existing worktree on the current
// commit of spec.Base. It does not rebase a worktree that a replay made for the files of a frame. A failed rebase is a
// warning, and leaves the worktree unchanged.
//
// Codes: no_working_copy if the path depends on a working copy and the store has none; worktree_failed if the
// worktree cannot be opened or made; unsaved_work if a half-made worktree at its path has unsaved work.
func OpenWorktree(ctx context.Context, s *timeline.Store, run string, spec WorktreeSpec, rebase bool) (_ *WorkingCopy, err error) {
	lock, err := lockMade(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	opened, _, err := openWorktree(ctx, s, run, spec, rebase)
	return opened, err
}

// OpenFirstWorktree opens or makes a worktree as OpenWorktree does, for a run that does not exist yet. The run's first
// frame can then have the worktree's files. The caller calls Settle once the run exists, or Discard if the run is not
// made. Until then, no other process can make or prune worktrees. Codes: those of OpenWorktree; run_exists if a run
// with the id exists; run_pruned if a run with the id was pruned.
func OpenFirstWorktree(ctx context.Context, s *timeline.Store, run string, spec WorktreeSpec) (_ *CheckoutResult, err error) {
	lock, err := lockMade(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	if err := timeline.CheckFree(ctx, s, run); err != nil {
		return nil, err
	}
	opened, found, err := openWorktree(ctx, s, run, spec, false)
	if err != nil {
		return nil, err
	}
	return &CheckoutResult{WorkingCopy: opened, made: madeWorktree{Run: run, Name: spec.Name}, found: found, lock: lock}, nil
}

// openWorktree does the work of OpenWorktree for a caller that holds the lock of lockMade. found reports whether
// openWorktree opened an existing worktree.
func openWorktree(ctx context.Context, s *timeline.Store, run string, spec WorktreeSpec, rebase bool) (_ *WorkingCopy, found bool, err error) {
	made, err := findMade(s, run, spec.Name)
	if err != nil {
		return nil, false, timeline.Explain(err)
	}
	if made != nil {
		if err := made.checkNotBeside(s); err != nil {
			return nil, false, err
		}
		opened, err := reopenWorktree(ctx, s, *made, spec)
		if err != nil {
			return nil, false, err
		}
		if opened != nil {
			if made.Unready {
				opened.unready = made
			}
			if rebase && !made.Replay {
				opened.rebase(ctx, spec.Base)
			}
			return opened, true, nil
		}
		spec.Path = made.Path
	}
	opened, err := makeWorktree(ctx, s, run, spec, made != nil && made.Replay)
	return opened, false, err
}

// reopenWorktree opens the worktree of a record, which was made for spec. If the worktree's folder is missing, reopenWorktree returns nil.
// If the worktree is half-made, reopenWorktree removes it and returns nil. Codes: worktree_failed or
// no_working_copy if the folder is no longer a worktree of this repository; unsaved_work if a half-made worktree
// may hold work.
func reopenWorktree(ctx context.Context, s *timeline.Store, made madeWorktree, spec WorktreeSpec) (*WorkingCopy, error) {
	if isMissing(made.Path) {
		return nil, nil //nolint:nilnil // a missing folder is not an error
	}
	if made.Begun {
		if dropped, err := worktrees.DropUnborn(ctx, s.Workspace(), made.Path); err != nil || dropped {
			return nil, timeline.Explain(err)
		}
		info := worktrees.Info{Path: made.Path}
		if list, err := worktrees.List(ctx, s.Workspace()); err != nil {
			return nil, timeline.Explain(err)
		} else if known, ok := workspaceAt(list, made.Path); ok {
			info = known
		}
		err := removeBegun(ctx, s, made, info)
		if s.Workspace().Type == snapshot.VCSJJ && (info.Name == "" || errors.Is(err, jjbridge.ErrStale)) {
			spec.Path = made.Path
			var req worktrees.AddRequest
			if req, _, err = addRequest(ctx, s, made.Run, spec); err == nil {
				err = worktrees.DropHalfMade(ctx, s.Workspace(), req, info)
			}
		}
		return nil, timeline.Explain(err)
	}
	found, err := WorkingCopyAt(ctx, s, made.Path)
	if err != nil {
		return nil, err
	}
	if found.Root() != made.Path {
		return nil, fault.New(fault.WorktreeFailed, "%s is no longer a worktree", made.Path).
			Hint("move the folder away: the run then makes its worktree again")
	}
	return found, nil
}

// removeBegun removes the half-made worktree of a record. info is the worktree's state in git or jj. The error
// wraps worktrees.ErrUnsaved if the worktree may hold work: an ignored file, a file that differs both from the
// worktree's commit and from the frame that fills the worktree, or a branch that differs from the record's branch.
func removeBegun(ctx context.Context, s *timeline.Store, made madeWorktree, info worktrees.Info) error {
	if err := checkBegun(ctx, s, made, info); err != nil {
		return err
	}
	err := worktrees.Forget(ctx, s.Workspace(), info, objstore.ID{})
	if made.Tree.IsZero() || !errors.Is(err, worktrees.ErrUnsaved) {
		return err
	}
	files, openErr := WorkingCopyAt(ctx, s, made.Path)
	if openErr != nil {
		return openErr
	}
	now, readErr := files.read(ctx, snapshot.ScopeAll)
	if readErr != nil {
		return readErr
	}
	defer now.Close() //nolint:errcheck // a later capture removes a quarantine that stays
	if ours, lookErr := isHalfFilled(ctx, s, now, made.Tree); lookErr != nil || !ours {
		return errors.Join(err, lookErr)
	}
	return worktrees.Forget(ctx, s.Workspace(), info, now.VCS.Tree)
}

// checkBegun checks that the run may have made a half-made worktree. Such a worktree is on the branch of its record or
// on no branch, and has no ignored files. Otherwise the error wraps worktrees.ErrUnsaved. info is the worktree's state
// in git or jj.
func checkBegun(ctx context.Context, s *timeline.Store, made madeWorktree, info worktrees.Info) error {
	if info.Name == "" {
		return nil // the folder is not a worktree of this repository, so worktrees.Forget refuses to remove the folder
	}
	if info.Branch != "" && info.Branch != made.Branch {
		return &worktrees.UnsavedError{Path: made.Path, Reason: "is on branch " + info.Branch + ", so the run did not make the worktree"}
	}
	ignored, err := worktrees.Ignored(ctx, s.Workspace(), info)
	if err == nil && ignored != "" {
		err = &worktrees.UnsavedError{Path: made.Path, Reason: "has the ignored file " + ignored + ", so the run did not make the worktree"}
	}
	return err
}

// isHalfFilled reports whether each file of a working copy equals the same file in the working copy's commit or in
// tree. now is the capture of the working copy. Files that are missing in the working copy count as equal.
func isHalfFilled(ctx context.Context, s *timeline.Store, now *jjbridge.CapturedFiles, tree objstore.ID) (bool, error) {
	commit, err := objstore.ParseID(now.VCS.CommitID)
	if err != nil {
		return false, err
	}
	objects := s.Objects().Begin() // reads the quarantine, and is never committed
	if err := now.Objects(objects); err != nil {
		return false, err
	}
	base, err := timeline.CommitTree(objects, commit)
	if err != nil {
		return false, err
	}
	other, err := ChangedFiles(ctx, objects, base, now.VCS.Tree, "")
	if err != nil {
		return false, err
	}
	differ, err := ChangedFiles(ctx, objects, tree, now.VCS.Tree, "")
	isOther := make(map[string]bool)
	for _, d := range other {
		isOther[d.Path] = d.Op != jjbridge.OpRemove
	}
	// A file is not half-filled if it differs from both trees.
	return !slices.ContainsFunc(differ, func(d jjbridge.PathChange) bool { return isOther[d.Path] && d.Op != jjbridge.OpRemove }), err
}

// makeWorktree makes the worktree of spec for a run, and fills the worktree if spec.Fill is true. replay is true if a
// replay made the worktree before, for the files of a frame; the new record then says so, too.
//
// makeWorktree writes a record first, so that a half-made worktree is recognized if this process dies. If git or jj
// cannot make the worktree, or the worktree cannot be filled, makeWorktree removes the worktree and the record. If
// only the last write of the record fails, the worktree stays, and its record still says that it is half-made.
func makeWorktree(ctx context.Context, s *timeline.Store, run string, spec WorktreeSpec, replay bool) (*WorkingCopy, error) {
	path, err := worktreePath(s, run, spec)
	if err != nil {
		return nil, err
	}
	if err := checkNotMade(s, run, spec.Name, path); err != nil {
		return nil, err
	}
	if folder, err := os.ReadDir(path); !errors.Is(err, fs.ErrNotExist) && (err != nil || len(folder) > 0) {
		// This check comes before the record: with a record, a later process would assume that the run made the folder.
		return nil, timeline.Explain(&worktrees.Error{Path: path, Reason: "already exists, and is not an empty folder"})
	}
	spec.Path = path
	req, files, err := addRequest(ctx, s, run, spec)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if spec.Fill && spec.Name == "" && !replay {
		head, err := s.Head(ctx, run)
		if err != nil {
			return nil, err
		}
		if replay, err = isReplayOfFiles(s, head); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	made := madeWorktree{Run: run, Name: spec.Name, Path: path, Replay: replay, Begun: true, Branch: spec.Branch}
	if files != nil {
		made.Tree = files.Tree
	}
	if made.Own, err = ownsBranch(ctx, s, made); err != nil {
		return nil, timeline.Explain(err)
	}
	if err := putMade(s, made); err != nil {
		return nil, timeline.Explain(err)
	}
	workspace, err := worktrees.Add(ctx, s.Workspace(), req)
	if err != nil {
		return nil, errors.Join(timeline.Explain(err), dropMade(s, made))
	}
	made.Path = workspace.Root
	out := &WorkingCopy{store: s, workspace: workspace, filled: files}
	if files != nil {
		if err := out.become(ctx, files); err != nil {
			return nil, errors.Join(timeline.Explain(err), dropCheckout(context.WithoutCancel(ctx), s, workspace, made))
		}
	}
	made.Begun, made.Unready = false, true
	if err := made.mark(s, workspace); err != nil {
		return nil, timeline.Explain(err)
	}
	out.unready = &made
	return out, timeline.Explain(putMade(s, made))
}

// ownsBranch reports whether the run makes the branch of a record: the branch does not exist, or an earlier worktree of the record made it.
func ownsBranch(ctx context.Context, s *timeline.Store, made madeWorktree) (bool, error) {
	if made.Branch == "" {
		return false, nil
	}
	if before, err := findMade(s, made.Run, made.Name); err == nil && before != nil && before.Own && before.Branch == made.Branch {
		return true, nil
	}
	commit, err := worktrees.BranchCommit(ctx, s.Workspace(), made.Branch)
	return commit == "", err
}

// addRequest returns the request for the worktree of spec at spec.Path, and the files with which it is to be filled, or nil.
func addRequest(ctx context.Context, s *timeline.Store, run string, spec WorktreeSpec) (worktrees.AddRequest, *snapshot.VCS, error) {
	req := worktrees.AddRequest{Path: spec.Path, Branch: spec.Branch, Base: spec.Base}
	if !spec.Fill {
		return req, nil, nil
	}
	head, err := s.Head(ctx, run)
	if err != nil {
		return req, nil, err
	}
	files, commit, err := newestFiles(s, head, spec.Name)
	req.Commit = commit
	return req, files, err
}

// newestFiles returns the record of a worktree at the run's tip, and the commit on which to put the record's files
// (see startingCommit). name is the task whose own worktree is meant, or "" for the run's. If the tip has no files
// of the worktree, the record is nil and the commit is zero.
func newestFiles(s *timeline.Store, head *timeline.Head, name string) (*snapshot.VCS, objstore.ID, error) {
	vcs, err := head.Entry().VCSRevision()
	if vcs = WorktreeOf(vcs, name); err != nil || vcs == nil || vcs.Tree.IsZero() {
		return nil, objstore.ID{}, err
	}
	commit, err := startingCommit(s, head.Entry(), vcs)
	return vcs, commit, err
}

// worktreePath returns the absolute path at which to make the worktree of spec for a run. A relative path of spec
// begins at the top of the working copy. If spec has no path, worktreePath chooses a path beside the working copy.
// Code: no_working_copy if the path depends on a working copy and the store has none.
func worktreePath(s *timeline.Store, run string, spec WorktreeSpec) (string, error) {
	switch path := filepath.FromSlash(spec.Path); {
	case spec.Path == "":
		names := []string{run}
		if spec.Name != "" {
			names = append(names, spec.Name)
		}
		return besideTop(s, names)
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case s.Workspace().Root == "":
		return "", fault.New(fault.NoWorkingCopy, "worktree path %q is relative, but this repository has no working copy", spec.Path)
	default:
		return filepath.Join(s.Workspace().Root, path), nil
	}
}

// checkNotMade returns worktree_failed if path is an existing worktree of another run or task, or a checkout of a
// frame. run and name are the run and the task that want the path. A worktree whose folder is missing does not
// count.
func checkNotMade(s *timeline.Store, run, name, path string) error {
	all, err := allMade(s)
	if err != nil {
		return timeline.Explain(err)
	}
	for _, made := range all {
		if made.Path != path || made.Run == run && made.Name == name && !made.Checkout || isMissing(made.Path) {
			continue
		}
		return fault.New(fault.WorktreeFailed, "%s is already a worktree of run %q", path, made.Run).
			Hint("`git smithers worktrees prune %s` removes the worktree, unless the worktree has unsaved work", fault.Word(made.Run)).
			Detail("path", path).Detail("runId", made.Run)
	}
	return nil
}

// rebase rebases the working copy on the current commit of base, and sets the result of Rebased. An error is a
// warning.
func (c *WorkingCopy) rebase(ctx context.Context, base string) {
	before, beforeErr := c.workspace.Pointer(ctx)
	if err := worktrees.Rebase(ctx, c.workspace, base); err != nil {
		c.store.Warn(fmt.Errorf("%s was not rebased: %w", c.Root(), err))
	}
	after, afterErr := c.workspace.Pointer(ctx)
	c.rebased = beforeErr == nil && afterErr == nil && before != nil && after != nil && before.CommitID != after.CommitID
}

// Rebased reports whether OpenWorktree has rebased the working copy, so that its commit changed.
func (c *WorkingCopy) Rebased() bool { return c.rebased }

// workspaceAt returns the worktree at path from list, and true. If list has no such worktree, it returns false.
func workspaceAt(list []worktrees.Info, path string) (worktrees.Info, bool) {
	for _, info := range list {
		if info.Path == path {
			return info, true
		}
	}
	return worktrees.Info{}, false
}

// isMissing reports whether nothing exists at path. If this cannot be checked, isMissing returns false.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
