package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// CheckoutRequest asks for a new working copy with the code of a frame.
type CheckoutRequest struct {
	From string // the address of the frame
	// Worktree is the task whose own worktree has the code; "" means the run's working copy.
	Worktree string
	Dir      string // the absolute path of a missing or empty folder; "" chooses a folder beside the working copy
	Name     string // part of the folder's name, from which jj names the workspace; "" uses the address
	Branch   string // the new branch, or bookmark of jj, that is checked out; "" checks out none
	Run      string // the run with which the worktree is listed and pruned; "" means the run of From
	Own      bool   // the working copy is the run's own worktree, in which the tasks of Run work
}

// CheckoutResult is a working copy from Checkout or OpenFirstWorktree. Only Checkout sets From and VCS.
type CheckoutResult struct {
	From        timeline.Address
	WorkingCopy *WorkingCopy
	VCS         *snapshot.VCS

	made  madeWorktree
	found bool         // the working copy existed before
	lock  *flock.Flock // the lock of lockMade; nil after its release
}

// Checkout makes a git worktree or a jj workspace with exactly the files of a frame, and records it for Worktrees. It
// warns about files that differ nevertheless. The new working copy is on the commit that the frame names. If this
// repository cannot check out that commit, the new working copy is on the run's base commit (see startingCommit). If
// Checkout fails, it removes the new working copy.
//
// A run that does not exist yet cannot protect its worktree from PruneWorktrees. So if req.Own is true, no other
// process can make or prune worktrees until the caller calls Settle or Discard. Codes: no_code; no_working_copy if
// req.Dir is "" and the store has no working copy; worktree_failed.
func Checkout(ctx context.Context, s *timeline.Store, req CheckoutRequest) (_ *CheckoutResult, err error) {
	from, vcs, err := loadCode(ctx, s, req.From, req.Worktree, timeline.ToRead)
	if err != nil {
		return nil, err
	}
	lock, err := lockMade(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil || !req.Own {
			err = errors.Join(err, lock.Close())
		}
	}()
	dir := req.Dir
	if dir == "" {
		if dir, err = besideTop(s, checkoutName(req.Name, from.Address)); err != nil {
			return nil, err
		}
	}
	if err := checkFree(s, dir); err != nil {
		return nil, err
	}
	commit, err := startingCommit(s, from.Entry, vcs)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	stranger, err := distrusted(s, s.Workspace(), from.Entry)
	trees := []objstore.ID{vcs.Tree}
	if err == nil && stranger != "" && !commit.IsZero() { // git writes its files first
		trees = append(trees, objstore.ID{})
		trees[1], err = timeline.CommitTree(s.Objects(), commit)
	}
	if err == nil {
		err = checkPrograms(ctx, stranger, s.Workspace(), func() ([]string, error) { return changedFromOwn(ctx, s, trees...) }, trees...)
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	made := madeWorktree{Run: cmp.Or(req.Run, from.Address.Run), Checkout: true, Tree: vcs.Tree, Branch: req.Branch}
	if made.Own, err = ownsBranch(ctx, s, made); err == nil && made.Own != (req.Branch != "") {
		err = &worktrees.Error{Path: dir, Reason: "there is a branch " + req.Branch + " already", Err: worktrees.ErrBranch}
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	workspace, err := worktrees.Add(ctx, s.Workspace(), worktrees.AddRequest{Path: dir, Commit: commit, Branch: req.Branch})
	if err != nil {
		return nil, timeline.Explain(err)
	}
	workspace.NoMonitor = stranger != ""
	made.Name, made.Path, made.Unready = workspace.Name, workspace.Root, true
	if req.Own { // findMade finds the run's own worktree by an empty name, and not among the checkouts
		made.Name, made.Checkout, made.Replay = "", false, true
	}
	out := &CheckoutResult{From: from.Address, WorkingCopy: &WorkingCopy{store: s, workspace: workspace}, VCS: vcs, made: made}
	if req.Own {
		out.lock = lock
	}
	if out.WorkingCopy, err = out.WorkingCopy.likeRun(from.Entry); err == nil {
		err = made.mark(s, workspace)
	}
	if err == nil {
		out.made, out.WorkingCopy.unready, out.WorkingCopy.stranger = made, &made, stranger
		err = putMade(s, made)
	}
	if err == nil {
		err = out.WorkingCopy.become(ctx, vcs)
	}
	if err != nil {
		return nil, errors.Join(timeline.Explain(err), dropCheckout(context.WithoutCancel(ctx), s, workspace, made))
	}
	return out, nil
}

// CheckoutOf opens the working copy that Checkout has made for a run, so that it can be equipped if that is left to do. It returns nil if there is none.
// Code: no_working_copy if the folder is gone.
func CheckoutOf(ctx context.Context, s *timeline.Store, run string) (*WorkingCopy, error) {
	all, err := checkoutsOf(s, run)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	opened, err := WorkingCopyAt(ctx, s, all[0].Path)
	if err == nil && all[0].Unready {
		opened.unready = &all[0]
	}
	return opened, err
}

// DropCheckouts removes the working copies that Checkout has made for a run that does not exist. The caller must not have run anything in them.
func DropCheckouts(ctx context.Context, s *timeline.Store, run string) error {
	all, err := checkoutsOf(s, run)
	for _, made := range all {
		err = errors.Join(err, dropCheckout(ctx, s, &jjbridge.Workspace{Name: made.Name, Root: made.Path}, made))
	}
	return timeline.Explain(err)
}

// checkoutsOf returns the records of the working copies that Checkout has made for a run.
func checkoutsOf(s *timeline.Store, run string) ([]madeWorktree, error) {
	all, err := allMade(s)
	return slices.DeleteFunc(all, func(made madeWorktree) bool { return made.Run != run || !made.Checkout }), timeline.Explain(err)
}

// checkFree returns worktree_failed if the folder dir is a worktree that a run made. The error names the run. If
// dir is free or does not exist, checkFree returns nil.
func checkFree(s *timeline.Store, dir string) error {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	err := checkNotMade(s, "", "", dir)
	if taken, ok := errors.AsType[*fault.Error](err); ok && taken.Code == fault.WorktreeFailed {
		return taken.Hint("or choose another folder with --to")
	}
	return err
}

// Settle releases the lock that other processes need to make or prune worktrees. The caller calls Settle once the
// run exists: from then on, the run protects its own worktree. If c is nil or the lock is already released, Settle
// does nothing.
func (c *CheckoutResult) Settle() error {
	if c == nil || c.lock == nil {
		return nil
	}
	err := c.lock.Close()
	c.lock = nil
	return timeline.Explain(err)
}

// Discard removes the working copy with all its files, unless the working copy existed before, and calls Settle.
// The caller must not have run anything in the working copy. If c is nil, Discard does nothing.
func (c *CheckoutResult) Discard(ctx context.Context) error {
	if c == nil {
		return nil
	}
	var err error
	if !c.found {
		err = dropCheckout(ctx, c.WorkingCopy.store, c.WorkingCopy.workspace, c.made)
	}
	return timeline.Explain(errors.Join(err, c.Settle()))
}

// checkoutName returns the parts of the name for the folder of a checkout: name or, if name is "", the run and
// frame of at.
func checkoutName(name string, at timeline.Address) []string {
	if name != "" {
		return []string{name}
	}
	return []string{at.Run, strconv.FormatInt(at.Frame, 10)}
}

// besideTop returns the path of a folder beside the working copy. The folder's name is the name of the working copy,
// followed by a dash and the escaped name for each name in names. Code: no_working_copy if the store has no working
// copy.
func besideTop(s *timeline.Store, names []string) (string, error) {
	if s.Workspace().Root == "" {
		return "", fault.New(fault.NoWorkingCopy, "this repository has no working copy, so there is no default folder for a new working copy").
			Hint("choose a folder with --to")
	}
	parts := []string{s.Workspace().Root}
	for _, name := range names {
		safe, err := refs.EscapeRun(name)
		if err != nil {
			return "", timeline.Explain(err)
		}
		parts = append(parts, safe)
	}
	return strings.Join(parts, "-"), nil
}

// startingCommit returns the commit on which a worktree with the files of vcs begins. vcs is a record of entry. This is
// the commit that vcs names. If this repository cannot check out that commit safely, it is the base commit in the first
// entry of entry's chain. If both are unusable, or if git-smithers itself made the base commit, startingCommit returns
// the zero id.
func startingCommit(s *timeline.Store, entry *snapshot.Entry, vcs *snapshot.VCS) (objstore.ID, error) {
	if id, err := objstore.ParseID(vcs.CommitID); err == nil {
		if safe, err := isSafeToCheckOut(s, id); err == nil && safe {
			return id, nil
		}
	}
	for !entry.Parent.IsZero() {
		var err error
		if entry, err = snapshot.ReadEntry(s.Objects(), entry.Parent); err != nil {
			return objstore.ID{}, err
		}
	}
	if entry.Base.IsZero() || timeline.IsOwnBase(s.Objects(), entry.Base) {
		return objstore.ID{}, nil
	}
	safe, err := isSafeToCheckOut(s, entry.Base)
	if errors.Is(err, objstore.ErrNotFound) || err == nil && !safe {
		return objstore.ID{}, nil
	}
	return entry.Base, err
}

// isSafeToCheckOut reports whether a commit has no .jj, in upper or lower case, at its top. A stranger's .jj would
// make the worktree a jj workspace with the stranger's configuration. A .git needs no check, since git itself
// refuses it. If the commit is unreadable, isSafeToCheckOut returns an error.
func isSafeToCheckOut(s *timeline.Store, commit objstore.ID) (bool, error) {
	tree, err := timeline.CommitTree(s.Objects(), commit)
	if err != nil {
		return false, err
	}
	entries, err := objstore.ReadForeignTree(s.Objects(), tree)
	return !slices.ContainsFunc(entries, func(e objstore.TreeEntry) bool { return strings.EqualFold(e.Name, ".jj") }), err
}

// become makes the files of a new working copy exactly those of vcs. If vcs is the capture of a jj conflict, become
// restores the conflict, too. It warns about files that differ afterwards. If there is a reason against the restore
// (see jjbridge.Refusal), become changes no file and returns a *jjbridge.RefusedError.
func (c *WorkingCopy) become(ctx context.Context, vcs *snapshot.VCS) error {
	// No search: nothing is stored, and the frame may have files that a search leaves out today.
	have, err := c.readWith(ctx, scopeLike(vcs), nil)
	if err != nil {
		return err
	}
	defer have.Close() //nolint:errcheck // a later capture removes a quarantine that stays
	plan, err := c.workspace.Plan(ctx, have, vcs.Tree)
	if err != nil {
		return err
	}
	if len(plan.Refused) > 0 {
		return &jjbridge.RefusedError{Refused: plan.Refused}
	}
	if len(plan.Changes) == 0 && !vcs.Conflicted {
		return nil
	}
	if err := c.workspace.Restore(ctx, plan); err != nil {
		return err
	}
	c.restoreConflict(ctx, vcs)
	now, err := c.readWith(ctx, scopeLike(vcs), nil)
	if err != nil {
		return err
	}
	defer now.Close() //nolint:errcheck // a later capture removes a quarantine that stays
	c.compare(ctx, now, vcs, nil)
	return nil
}

// dropCheckout removes a new working copy, in which nothing has run, its branch, if it has no commits of its own, and its record. workspace is the working
// copy, and made is the record. dropCheckout stops at the first error, and returns an error that names the working
// copy.
func dropCheckout(ctx context.Context, s *timeline.Store, workspace *jjbridge.Workspace, made madeWorktree) error {
	err := os.RemoveAll(workspace.Root)
	if err == nil {
		info := worktrees.Info{Name: workspace.Name, Path: workspace.Root, Missing: true}
		err = worktrees.Forget(ctx, s.Workspace(), info, objstore.ID{})
	}
	if err == nil && made.Own {
		_, err = worktrees.DropBranch(ctx, s.Workspace(), made.Branch, &worktrees.Removed{Paths: []string{workspace.Root}}, objstore.ID{}, false)
	}
	if err == nil {
		err = dropMade(s, made)
	}
	if err != nil {
		return fmt.Errorf("the new working copy %s was not removed: %w", workspace.Root, err)
	}
	return nil
}
