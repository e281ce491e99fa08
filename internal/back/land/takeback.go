package land

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// landOp returns the op of a landing. done is false if the landing was interrupted before it had the op.
func landOp(head *timeline.Head) (op snapshot.Op, done bool, err error) {
	ops, err := timeline.OpsAt(head.Entry())
	if err != nil {
		return op, false, timeline.Explain(err)
	}
	for _, op := range ops {
		if op.Kind == snapshot.OpLand {
			return op, true, nil
		}
	}
	return op, false, nil
}

// Open returns the id of the landing that has begun in the working copy of the store, and that was interrupted or has
// conflicts. If the landing was interrupted, Open first records it, so that it can be undone. Codes: nothing_to_undo if
// there is no such landing; those of Lock.
func Open(ctx context.Context, s *timeline.Store) (string, error) {
	unlock, err := Lock(s)
	if err != nil {
		return "", err
	}
	defer unlock()
	nothing := fault.New(fault.NothingToUndo, "no landing has conflicts or was interrupted in this working copy").
		Hint("`git smithers undo` takes back the newest operation in this clone")
	run, err := openLanding(s)
	if err != nil {
		return "", err
	}
	if run == "" {
		return "", nothing
	}
	head, err := s.Head(ctx, run)
	if err != nil {
		return "", err
	}
	op, done, err := landOp(head)
	if err != nil {
		return "", err
	}
	if done && op.UndoneBy != 0 {
		if err := end(s, run); err != nil {
			return "", err
		}
		return "", nothing
	}
	if done {
		return run, nil
	}
	return run, recordInterrupted(ctx, s, head)
}

// RecordInterrupted gives an interrupted landing in the working copy of the store its op, so that an undo finds it. run is
// the run to undo; "" means the newest operation. RecordInterrupted does nothing if there is no interrupted landing, or if
// run is another run. Codes: those of Lock, if the landing has not ended.
func RecordInterrupted(ctx context.Context, s *timeline.Store, run string) error {
	if s.Workspace().Root == "" {
		return nil
	}
	open, err := openLanding(s)
	if err != nil || open == "" || run != "" && run != open {
		return err
	}
	unlock, err := Lock(s)
	if err != nil {
		return err
	}
	defer unlock()
	head, err := s.Head(ctx, open)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		return nil // the next landing forgets it
	}
	if err != nil {
		return err
	}
	if _, done, err := landOp(head); done || err != nil {
		return err
	}
	return recordInterrupted(ctx, s, head)
}

// recordInterrupted appends the op of a landing that ended before it had one.
func recordInterrupted(ctx context.Context, s *timeline.Store, head *timeline.Head) error {
	r, err := recordBefore(s, head.Row().ID, head.Entry().ID)
	if err != nil {
		return err
	}
	op := snapshot.Op{Kind: snapshot.OpLand, Files: r.Mode != Branch}
	return recordOp(ctx, &files.RestoreJobs{Store: s, Head: head}, op, "landing interrupted")
}

// TakeBack is what an undo of a landing does besides restoring the files.
type TakeBack struct {
	s          *timeline.Store
	r          record
	run        string
	op         snapshot.Op
	head, tree objstore.ID
}

// NewTakeBack checks that the landing of head can be taken back here. It changes nothing. Code: undo_refused if the landing
// was done in another clone or working copy, or if commits were made since.
func NewTakeBack(ctx context.Context, s *timeline.Store, head *timeline.Head, op snapshot.Op) (*TakeBack, error) {
	run := head.Row().ID
	lines, err := s.Here().Lines()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if lines[timeline.OpMark(run, op)] == 0 {
		return nil, fault.New(fault.UndoRefused, "the landing %q was not done in this clone", run).Detail("runId", run)
	}
	r, err := recordBefore(s, run, op.Before)
	if err != nil {
		return nil, err
	}
	w := s.Workspace()
	if w.Root == "" || w.Name != r.WorkCopy {
		return nil, fault.New(fault.UndoRefused, "the landing %q was done in another working copy", run).
			Hint("run `git smithers undo %s` there", fault.Word(run)).Detail("runId", run)
	}
	t := &TakeBack{s: s, r: r, run: run, op: op}
	if w.Type == snapshot.VCSJJ {
		return t, t.checkJJ(ctx)
	}
	if t.tree, err = objstore.ParseID(r.Tree); err != nil {
		return nil, timeline.Explain(err)
	}
	id, err := objstore.ParseID(r.Head)
	if err == nil {
		t.head, err = timeline.CommitTree(s.Objects(), id)
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if err := t.checkGit(ctx); err != nil || r.Mode == Branch {
		return t, err
	}
	return t, t.checkStaged(ctx)
}

// checkGit checks that the branch is where the landing left it, or where it was before.
func (t *TakeBack) checkGit(ctx context.Context) error {
	w := t.s.Workspace()
	if t.r.Mode == Branch {
		return t.checkBranch(ctx)
	}
	commit, branch, err := w.Head(ctx)
	if err != nil {
		return timeline.Explain(err)
	}
	ref := "HEAD"
	if branch != "" {
		ref = "refs/heads/" + branch
	}
	if err := refuseUnderway(w, fault.UndoRefused, t.run); err != nil {
		return err
	}
	switch {
	case ref != t.r.Ref:
		return fault.New(fault.UndoRefused, "another branch was checked out since the landing %q", t.run).
			Hint("check %s out again", t.r.Ref).Detail("runId", t.run)
	case commit == t.r.Head, commit == t.r.Commit:
		return nil
	case t.r.Commit != "":
		return fault.New(fault.UndoRefused, "commits were made since the landing %q", t.run).
			Hint("`git revert %s` takes its commit back", fault.Word(t.r.Commit)).Detail("runId", t.run)
	}
	return fault.New(fault.UndoRefused, "the landing %q was committed", t.run).
		Hint("`git revert` takes a commit back").Detail("runId", t.run)
}

// checkBranch checks that the new branch is where the landing left it, or deleted, and that no worktree has it checked out.
func (t *TakeBack) checkBranch(ctx context.Context) error {
	w := t.s.Workspace()
	out, err := w.RunGit(ctx, "for-each-ref", "--format=%(objectname) %(worktreepath)", "refs/heads/"+t.r.Branch)
	if err != nil {
		return timeline.Explain(err)
	}
	at, worktree, found := strings.Cut(strings.TrimSuffix(string(out), "\n"), " ")
	switch {
	case !found:
		return nil
	case at != t.r.Commit:
		return t.branchMoved()
	case worktree != "":
		return fault.New(fault.UndoRefused, "branch %s is checked out in %s", t.r.Branch, worktree).
			Hint("check out another branch there").Detail("runId", t.run)
	}
	return nil
}

// branchMoved returns undo_refused for a branch that is not where the landing left it.
func (t *TakeBack) branchMoved() error {
	return fault.New(fault.UndoRefused, "branch %s has moved since the landing %q", t.r.Branch, t.run).
		Hint("`git branch -D %s` deletes the branch", fault.Word(t.r.Branch)).Detail("runId", t.run)
}

// Do takes back the commit, the branch and the staged changes of the landing. It may be called again after it was
// interrupted.
func (t *TakeBack) Do(ctx context.Context) error {
	w := t.s.Workspace()
	switch {
	case w.Type == snapshot.VCSJJ:
		if err := t.doJJ(ctx); err != nil {
			return timeline.Explain(err)
		}
	case t.r.Mode == Branch:
		at, err := w.OneID(ctx, "refs/heads/"+t.r.Branch)
		if err == nil && at != "" {
			_, err = w.RunGit(ctx, "update-ref", "-d", "refs/heads/"+t.r.Branch, t.r.Commit)
		}
		if err != nil {
			return timeline.Explain(err)
		}
	default:
		commit, _, err := w.Head(ctx)
		if err == nil && t.r.Commit != "" && commit == t.r.Commit {
			err = w.MoveHead(ctx, "smithers undo: "+t.run, t.r.Head, t.r.Commit)
		}
		if err == nil {
			err = w.Unstage(ctx, t.head, t.tree, t.r.paths())
		}
		if err == nil {
			err = w.ForgetMessage("Smithers-Frame: "+t.r.frame(), t.r.Prepared)
		}
		if err != nil {
			return timeline.Explain(err)
		}
	}
	return end(t.s, t.run)
}
