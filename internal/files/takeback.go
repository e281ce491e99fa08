package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// TakeBackRequest asks to take back what an attempt of a node changed, and to keep what was changed since.
type TakeBackRequest struct {
	Run     string // the whole id
	Attempt AttemptName
	Before  string                 // the address of the frame before the attempt
	Next    string                 // the address of the frame that has the files after an attempt that ended without files, if there is such a frame
	Name    string                 // of the attempt, for messages and conflict markers, such as "turn 3"
	DryRun  bool                   // report the changes, and change no file
	Shared  bool                   // take back what others may have changed, too
	Only    func(path string) bool // reports whether the changes of a file are taken back; nil takes all
	Confirm ConfirmRemoval
}

// TakeBackResult is the result of TakeBack. From is the frame before the attempt, and New has the changed paths that are not taken back, because a
// capture left them out, or Only did.
type TakeBackResult struct {
	RestoreResult
	Asked   TakeBackRequest
	After   timeline.Address      // the frame after the attempt
	Made    []jjbridge.PathChange // what is taken back, as the changes to the files before; sorted by path, never nil
	Merged  *jjbridge.Merged      // the files after, with the conflicts
	Open    bool                  // the attempt has not ended, so later changes than those in After are not taken back
	Ignored []string              // paths that the attempt made and that stay, because git ignores them

	after *snapshot.VCS
	left  []string // New, once the files are restored
}

// TakeBack merges the change that an attempt made, reversed, onto the files of the working copy, as git merges. An attempt that has not ended reaches to
// the newest frame. TakeBack saves and records files as Restore does. If there are conflicts, it returns the result and merge_conflict: files
// have conflict markers or the version of one side. A dry run has no such error. Other codes: those of Restore, and attempt_not_found.
func TakeBack(ctx context.Context, s *timeline.Store, req TakeBackRequest) (*TakeBackResult, error) {
	head, err := s.Head(ctx, req.Run)
	if err != nil {
		return nil, err
	}
	attempt, err := FindAttempt(head.Entry(), req.Attempt)
	if err != nil {
		return nil, err
	}
	before, then, err := loadCode(ctx, s, req.Before, "", timeline.ToRead)
	if err != nil {
		return nil, err
	}
	at, _, err := attemptCode(s, head, attempt)
	if err != nil {
		return nil, err
	}
	after, now, err := loadCode(ctx, s, at.String(), "", timeline.ToRead)
	if attempt.Tree.IsZero() { // it has not ended, or nobody saw how it ended
		if next, vcs, err := loadCode(ctx, s, req.Next, "", timeline.ToRead); err == nil {
			after, now = next, vcs
		}
	}
	if err != nil {
		return nil, err
	}
	target, err := WorktreeFiles(ctx, s, head, before.Address, "")
	if err != nil {
		return nil, err
	}
	out := &TakeBackResult{Asked: req, After: after.Address, Made: []jjbridge.PathChange{}, Merged: new(jjbridge.Merged), Open: attempt.State == snapshot.AttemptInProgress, after: now}
	out.RestoreResult = RestoreResult{From: before.Address, VCS: then, Root: target.Root(), Changes: []jjbridge.PathChange{}}
	if then.Tree == now.Tree {
		return out, nil
	}
	if !req.DryRun && !req.Shared {
		if err := refuseOpsWithin(before, after, attempt, req); err != nil {
			return nil, err
		}
	}
	if !req.DryRun && !req.Shared && req.Only == nil {
		shared, err := SharedSince(ctx, s, before.Entry.ID, after.Entry.ID)
		if err == nil && shared != nil {
			err = shared.Refusal(fault.RestoreRefused, req.Name+" was not taken back")
		}
		if err != nil {
			return nil, err
		}
	}
	op := snapshot.Op{Kind: snapshot.OpRevert, NodeID: attempt.NodeID, Iteration: attempt.Iteration}
	r := &restoreRun{store: s, head: head, op: op, subject: req.Name + " taken back"}
	r.merge = func(ctx context.Context, have *jjbridge.CapturedFiles) (*snapshot.VCS, error) {
		return out.merge(ctx, target, have)
	}
	r.setConfirm(req.Confirm, req.DryRun)
	if _, err := r.do(ctx, target, &out.RestoreResult, req.DryRun); err != nil {
		return nil, err
	}
	out.Ignored = out.staying(target.Root())
	if out.New = out.left; req.DryRun || len(out.Merged.Conflicts) == 0 {
		return out, nil
	}
	return out, fault.New(fault.MergeConflict, "%s is taken back with conflicts: %s in conflict", req.Name, plain.Count(len(out.Merged.Conflicts), "file")).
		Hint("edit the files: between <<<<<<< now and ======= is what is there now, and below it what was there before").
		Hint("`git smithers undo %s` takes this back", fault.Word(req.Run)).Detail("conflicts", out.Merged.Paths()).Detail("runId", req.Run)
}

// refuseOpsWithin returns restore_refused if the user has taken back or restored files between the two frames: the attempt's change has the reverse of these
// changes, so taking it back would undo what the user did. An op that was undone before the second frame does not count, nor does one on the attempt itself.
func refuseOpsWithin(before, after *timeline.LoadedEntry, attempt snapshot.Attempt, req TakeBackRequest) error {
	ops, err := timeline.OpsAt(after.Entry)
	if err != nil {
		return err
	}
	within := make(map[int]bool)
	for _, op := range ops {
		switch {
		case op.Frame == nil || !op.Files || *op.Frame <= before.Address.Frame || *op.Frame > after.Address.Frame:
		case op.Kind == snapshot.OpRevert && op.NodeID == attempt.NodeID && op.Iteration == attempt.Iteration:
		case op.Kind == snapshot.OpUndo && within[op.Undoes]:
			delete(within, op.Undoes)
		default:
			within[op.Number] = true
		}
	}
	if len(within) == 0 {
		return nil
	}
	return fault.New(fault.RestoreRefused, "%s was not taken back: while it worked, files were taken back or restored, and this would undo that, too", req.Name).
		Hint("`%s` lists what was done", fault.CommandLine(fault.Program, "ops", req.Run)).Hint("--shared takes the turn back all the same")
}

// merge returns the files of the working copy without the change. See RestoreJob.Merge.
func (t *TakeBackResult) merge(ctx context.Context, target *WorkingCopy, have *jjbridge.CapturedFiles) (*snapshot.VCS, error) {
	before, err := OnlyPaths(ctx, target.store, t.after, t.VCS, t.Asked.Only)
	if err != nil {
		return nil, err
	}
	w := target.workspace
	back, err := w.TreeChange(ctx, have, t.after, before)
	if err != nil {
		return nil, err
	}
	t.Made, t.left = append([]jjbridge.PathChange{}, back.Changes...), back.LeftOut
	t.Merged, err = w.Merge(ctx, have, jjbridge.MergeRequest{
		Base: t.after.Tree, Ours: have.VCS.Tree, Theirs: back.To, OursLabel: "now", Label: "before " + t.Asked.Name,
	})
	if errors.Is(err, jjbridge.ErrCollides) {
		err = fault.New(fault.RestoreRefused, "%w", err).Hint("git 2.38 or newer can merge the two sides")
	}
	if err != nil {
		return nil, err
	}
	want := have.VCS
	if want.Tree = t.Merged.Tree; !t.Asked.DryRun {
		return &want, Keep(ctx, target.store, have) // the frame after has files that no frame has yet
	}
	edits, err := w.Expect(ctx, have, have.VCS.Tree, want.Tree) // the objects of the merge are in no repository
	have.Expect(edits)
	return &want, err
}

// staying returns the paths that taking back would remove and that are still in the working copy at root, without a conflict: a restore removes no file that
// git ignores.
func (t *TakeBackResult) staying(root string) (paths []string) {
	conflicts := t.Merged.Paths()
	for _, made := range t.Made {
		planned := slices.ContainsFunc(t.Changes, func(c jjbridge.PathChange) bool { return c.Path == made.Path })
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(made.Path))); made.Op == jjbridge.OpRemove && !planned && err == nil && !slices.Contains(conflicts, made.Path) {
			paths = append(paths, made.Path)
		}
	}
	return paths
}

// OnlyPaths returns the record after without the changes since before to the paths for which own returns false, as if the capture had left them
// out. A nil own leaves nothing out.
func OnlyPaths(ctx context.Context, s *timeline.Store, before, after *snapshot.VCS, own func(path string) bool) (*snapshot.VCS, error) {
	if own == nil {
		return after, nil
	}
	changes, err := ChangedFiles(ctx, s.Objects(), before.Tree, after.Tree, "")
	out := *after
	out.LeftOut = slices.Clone(after.LeftOut)
	for _, change := range changes {
		if !own(change.Path) {
			out.LeftOut = append(out.LeftOut, snapshot.LeftOut{Path: change.Path, Reason: snapshot.LeftUntracked})
		}
	}
	return &out, timeline.Explain(err)
}

// WithoutOp returns the files of have in which the paths that an op changed are as in the tree before. Other files stay. after is the frame that
// the op made.
func (c *WorkingCopy) WithoutOp(ctx context.Context, have *jjbridge.CapturedFiles, before objstore.ID, after timeline.Address) (*snapshot.VCS, error) {
	paths, err := c.PathsSince(ctx, before, after)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return c.WithPaths(ctx, have, before, paths)
}

// PathsSince returns the paths that differ between a tree and the files of a frame.
func (c *WorkingCopy) PathsSince(ctx context.Context, before objstore.ID, after timeline.Address) ([]string, error) {
	at, err := c.store.At(ctx, after)
	if err != nil {
		return nil, err
	}
	vcs, err := at.Entry.VCSRevision()
	if err != nil || vcs == nil {
		return nil, err
	}
	return c.workspace.ChangedPaths(ctx, before, vcs.Tree)
}

// WithPaths returns the files of have in which the given paths are as in the tree before. Other files stay.
func (c *WorkingCopy) WithPaths(ctx context.Context, have *jjbridge.CapturedFiles, before objstore.ID, paths []string) (*snapshot.VCS, error) {
	want := have.VCS
	want.Conflicted = false
	var err error
	if want.Tree, err = c.workspace.TakePaths(ctx, have, before, paths); err != nil {
		return nil, err
	}
	return &want, Keep(ctx, c.store, have) // the frame after has files that no frame has yet
}

// Keep puts the new objects of merges onto a capture into the repository. No ref reaches them yet.
func Keep(ctx context.Context, s *timeline.Store, c *jjbridge.CapturedFiles) error {
	batch := s.Objects().Begin()
	if err := c.Objects(batch); err != nil {
		return timeline.Explain(err)
	}
	return timeline.Explain(batch.Commit(ctx, nil))
}
