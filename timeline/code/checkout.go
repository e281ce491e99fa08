package code

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

	"github.com/gofrs/flock"

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
	From string // an address
	// Worktree is the task whose own worktree's code it is; "": the run's.
	Worktree string
	Dir      string // absolute; must not exist, or be an empty folder; "" chooses one beside the working copy
	Name     string // in the folder's name, for which jj names the workspace; "" makes one of the address
	Run      string // the run that it is for, with which it is listed and pruned; "" is that of From
	Own      bool   // the tasks of Run are to work in it: it is the run's own worktree
}

// CheckedOut is a working copy that Checkout made.
type CheckedOut struct {
	From        timeline.Address
	WorkingCopy *WorkingCopy
	VCS         *snapshot.VCS

	made  madeWorktree
	found bool         // it was there before
	lock  *flock.Flock // see lockMade; nil once it was let go
}

// Checkout makes a git worktree or a jj workspace whose files are exactly those of a
// frame, on the commit that the frame names where it is still there. Worktrees lists it.
// If Checkout fails, nothing stays behind. If the worktree is a run's own (req.Own), PruneWorktrees waits until
// Settle or Discard: the run is not there yet, and so does not protect it.
func Checkout(ctx context.Context, s *timeline.Store, req CheckoutRequest) (_ *CheckedOut, err error) {
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
	workspace, err := worktrees.Add(ctx, s.Workspace(), worktrees.AddRequest{Path: dir, Commit: commit})
	if err != nil {
		return nil, timeline.Explain(err)
	}
	made := madeWorktree{
		Run: cmp.Or(req.Run, from.Address.Run), Name: workspace.Name, Path: workspace.Root, Checkout: true, Tree: vcs.Tree,
	}
	if req.Own {
		made.Name, made.Checkout, made.Replay = "", false, true
	}
	out := &CheckedOut{From: from.Address, WorkingCopy: &WorkingCopy{store: s, workspace: workspace}, VCS: vcs, made: made}
	if req.Own {
		out.lock = lock
	}
	err = putMade(s, made)
	if err == nil {
		err = out.WorkingCopy.become(ctx, vcs)
	}
	if err != nil {
		return nil, errors.Join(timeline.Explain(err), dropCheckout(context.WithoutCancel(ctx), s, workspace, made))
	}
	return out, nil
}

// checkFree refuses a folder in which a run's working copy is, which the refusal names.
func checkFree(s *timeline.Store, dir string) error {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	err := checkNotMade(s, "", "", dir)
	if taken, ok := errors.AsType[*fault.Error](err); ok && taken.Code == fault.WorktreeFailed {
		return taken.Hint("or give --to another folder")
	}
	return err
}

// Settle ends the making of a run's own working copy: from now on its run protects it.
func (c *CheckedOut) Settle() error {
	if c == nil || c.lock == nil {
		return nil
	}
	err := c.lock.Close()
	c.lock = nil
	return timeline.Explain(err)
}

// Discard removes the working copy with everything in it, if it was made and not found. The caller must not have run
// anything in it.
func (c *CheckedOut) Discard(ctx context.Context) error {
	if c == nil {
		return nil
	}
	var err error
	if !c.found {
		err = dropCheckout(ctx, c.WorkingCopy.store, c.WorkingCopy.workspace, c.made)
	}
	return timeline.Explain(errors.Join(err, c.Settle()))
}

// checkoutName is what the folder of a checkout is named for.
func checkoutName(name string, at timeline.Address) []string {
	if name != "" {
		return []string{name}
	}
	return []string{at.Run, strconv.FormatInt(at.Frame, 10)}
}

// besideTop is a folder beside the working copy, named for it and for names.
func besideTop(s *timeline.Store, names []string) (string, error) {
	if s.Workspace().Root == "" {
		return "", fault.New(fault.NoWorkingCopy, "there is no working copy to put another one beside").
			Hint("give a folder with --to")
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

// startingCommit is the commit that a frame's code is shown to differ from: the one that
// the frame names or, if that cannot be checked out here, the one that its run was built on. Zero
// if neither can.
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

// isSafeToCheckOut reports whether no file of a commit is a repository's own. git refuses .git itself; a .jj at the
// top of a stranger's commit would make its worktree a jj workspace with a configuration of the stranger's.
func isSafeToCheckOut(s *timeline.Store, commit objstore.ID) (bool, error) {
	tree, err := timeline.CommitTree(s.Objects(), commit)
	if err != nil {
		return false, err
	}
	entries, err := objstore.ReadForeignTree(s.Objects(), tree)
	return !slices.ContainsFunc(entries, func(e objstore.TreeEntry) bool { return strings.EqualFold(e.Name, ".jj") }), err
}

// become gives a fresh working copy the files of vcs.
func (c *WorkingCopy) become(ctx context.Context, vcs *snapshot.VCS) error {
	have, err := c.read(ctx, scopeLike(vcs))
	if err != nil {
		return err
	}
	defer have.Close() //nolint:errcheck // a quarantine that stays is removed by a later capture
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
	now, err := c.read(ctx, scopeLike(vcs))
	if err != nil {
		return err
	}
	defer now.Close() //nolint:errcheck // see above
	c.compare(ctx, now, vcs)
	return nil
}

// dropCheckout removes a working copy that was just made, in which nobody has worked.
func dropCheckout(ctx context.Context, s *timeline.Store, workspace *jjbridge.Workspace, made madeWorktree) error {
	err := os.RemoveAll(workspace.Root)
	if err == nil {
		info := worktrees.Info{Name: workspace.Name, Path: workspace.Root, Missing: true}
		err = worktrees.Forget(ctx, s.Workspace(), info, objstore.ID{})
	}
	if err == nil {
		err = dropMade(s, made)
	}
	if err != nil {
		return fmt.Errorf("remove %s again: %w", workspace.Root, err)
	}
	return nil
}
