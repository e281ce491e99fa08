package travel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// UndoRequest asks for the undo of an op.
type UndoRequest struct {
	Run     string               // the run's id; "" means the run with the newest op of this clone that is not undone
	NoFiles bool                 // restore no files
	Force   bool                 // go on although a process in another clone may be executing the run
	Confirm files.ConfirmRemoval // asks about untracked files; nil removes them without a question
}

// Undo takes back the newest travel, reset, revert, restore, landing or fork of a run that is not undone. Undo appends to the
// run, and removes no entry.
//
// Undo takes a travel or reset back with a frame that has the state and files of the tip before the op. The attempts
// that the op cancelled get their earlier rows back. The frames since the op are dropped. The run gets its earlier
// status back, but a run that was running becomes pending: no process executes the run, and resume continues it.
//
// Undo takes a revert or restore back with a frame that has the files as they were before the op. The state stays. If the op took
// back a turn of a session, files that it did not change stay, too. For a landing, it also takes back the commit, the branch and the staged changes.
// Undo takes a fork back only if the fork has not run: the fork is then cancelled and no longer listed among
// its parent's forks.
//
// Undo leaves the ops of another engine alone, because that engine would not know of the change. Without a run, Undo
// takes back the newest op of this clone. It skips ops that were made elsewhere, since fetched runs have such ops. If
// the newest operation of this clone is a prune, a fork that has run, or a fork that a fetch made, Undo takes nothing
// back.
//
// Error codes: nothing_to_undo if no op can be taken back; undo_refused for a fork that has run or that a
// fetch made, for another engine's op and, without a run, for a prune; run_owned; and every code of
// files.Restore; land_refused for a landing while another process lands in the working copy. With these errors, the state of
// the run and all files are unchanged.
func Undo(ctx context.Context, s *timeline.Store, req UndoRequest) (*Result, error) {
	if err := land.RecordInterrupted(ctx, s, req.Run); err != nil {
		return nil, err
	}
	if req.Run != "" {
		return undoNewest(ctx, s, req)
	}
	run, passed, older, err := runToUndo(ctx, s)
	if err != nil {
		return nil, err
	}
	req.Run = run
	done, err := undoNewest(ctx, s, req)
	if done != nil {
		done.PassedOver = passed
	}
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Code == fault.UndoRefused {
		return nil, hintOlder(ctx, s, refused, older)
	}
	return done, err
}

// undoNewest undoes the newest op of the run req.Run that is not yet undone, and appends a frame. req.Run must be a
// whole id. For a fork, see undoFork. For a revert or restore, only the files go back to the entry before the op. For
// every other op, the state goes back, and the files of the op do unless req.NoFiles is true. The error is run_owned
// if a process executes the run, nothing_to_undo if the run has no such op, and undo_refused if undo cannot take the
// op back.
func undoNewest(ctx context.Context, s *timeline.Store, req UndoRequest) (*Result, error) {
	head, err := unowned(ctx, s, req.Run, req.Force)
	if err != nil {
		return nil, err
	}
	op, err := opToUndo(head)
	if err != nil {
		return nil, err
	}
	if op.Kind == snapshot.OpFork {
		return undoFork(ctx, s, head, op)
	}
	then, err := snapshot.ReadEntry(s.Objects(), op.Before)
	if err != nil {
		return nil, timeline.Explain(fmt.Errorf("the state before op %d cannot be read: %w", op.Number, err))
	}
	row, err := then.RunRow()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	t := newPlan(s, head, snapshot.Op{Kind: snapshot.OpUndo, Undoes: op.Number, Worktree: op.Worktree})
	t.undoes, t.confirm = &op, req.Confirm
	t.subject = "undone: " + describeOp(op)
	t.out.To = timeline.Address{Run: head.Row().ID, Frame: row.Frame}
	t.turn = func(at int64) (*turn, error) { return t.before(then, row, at) }
	if filesAlone(op) { // the state stays
		t.turn = func(int64) (*turn, error) { return &turn{}, nil }
	}
	if op.Kind == snapshot.OpLand {
		unlock, err := land.Lock(s)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if t.land, err = land.NewTakeBack(ctx, s, head, op); err != nil {
			return nil, err
		}
	}
	if op.Files && !req.NoFiles {
		var only *string
		if filesAlone(op) {
			only = &op.Worktree
		}
		if err := t.restores(ctx, then, only); err != nil {
			return nil, err
		}
		t.keepOthers(op)
	}
	return t.do(ctx)
}

// keepOthers makes the undo of a landing, or of a turn that was taken back, leave the files alone that op did not change.
func (t *plan) keepOthers(op snapshot.Op) {
	if t.land == nil && (!keepsLater(op) || op.Frame == nil) {
		return
	}
	for _, job := range t.files.All {
		before := job.Want
		job.Merge = func(ctx context.Context, have *jjbridge.CapturedFiles) (*snapshot.VCS, error) {
			if t.land != nil {
				return t.land.Files(ctx, have, before)
			}
			return job.Copy.WithoutOp(ctx, have, before.Tree, timeline.Address{Run: t.out.Run, Frame: *op.Frame})
		}
	}
}

// keepsLater reports whether op took back what a node had changed, and kept what was changed since.
func keepsLater(op snapshot.Op) bool { return op.Kind == snapshot.OpRevert && op.Attempt == 0 }

// filesAlone reports whether op changed only files and not the state: whether op is a revert, restore or landing.
func filesAlone(op snapshot.Op) bool {
	return op.Kind == snapshot.OpRevert || op.Kind == snapshot.OpRestore || op.Kind == snapshot.OpLand
}

// describeOp describes op in a few words, for commit subjects and messages. If the words change, the ids of new
// commits and the golden files of the tests change, too.
func describeOp(op snapshot.Op) string {
	out := op.Kind
	if op.ByEngine() {
		return fmt.Sprintf("rewound to frame %d", *op.To) // such an op has a To, because an undo is never described
	}
	if op.Kind == snapshot.OpReset && op.To != nil && *op.To > 0 {
		return fmt.Sprintf("back to frame %d", *op.To)
	}
	switch {
	case keepsLater(op):
		out += " of " + snapshot.Key(op.NodeID, op.Iteration)
	case op.NodeID != "":
		out += " to before "
		if op.Kind == snapshot.OpRevert {
			out = op.Kind + " to after "
		}
		out += snapshot.AttemptKey(op.NodeID, op.Iteration, op.Attempt)
	}
	return out
}

// before returns the change that an undo makes to the run: the run goes back to earlier, the entry before the op.
// row is the run's row in earlier. The run gets its status in row back, but a run that was running becomes
// pending. at is the time in milliseconds since 1970.
func (t *plan) before(earlier *snapshot.Entry, row snapshot.Run, at int64) (*turn, error) {
	steps := t.stepOver("the run went back to before "+describeOp(*t.undoes), at)
	if err := steps.since(earlier, false); err != nil {
		return nil, err
	}
	status := row.Status
	if status == snapshot.RunRunning {
		status = snapshot.RunPending
	}
	turn := &turn{then: earlier, based: &row.Frame, steps: steps, status: status}
	if err := t.redefine(turn, Redefinition{}); err != nil {
		return nil, err
	}
	workflow := turn.row
	turn.earlier = &row
	turn.row = func(now *snapshot.Run) {
		now.Error, now.FinishedAtMs = row.Error, row.FinishedAtMs
		if workflow != nil {
			workflow(now)
		}
	}
	return turn, nil
}

// opToUndo returns the newest op of the run of head that is not undone. The error is nothing_to_undo if the
// run has no such op, or undo_refused if another engine made the op.
func opToUndo(head *timeline.Head) (snapshot.Op, error) {
	ops, err := timeline.OpsAt(head.Entry())
	if err != nil {
		return snapshot.Op{}, timeline.Explain(err)
	}
	if op, ok := newestOp(ops); ok {
		return op, refuseEngines(head.Row(), op)
	}
	nothing := fault.New(fault.NothingToUndo, "run %q has no operation to undo", head.Row().ID)
	for _, op := range slices.Backward(ops) {
		if op.Kind == snapshot.OpUndo && op.ByEngine() {
			nothing = nothing.Hint("the engine of the run undid op %[2]d by continuing from frame %[1]d, and `undo` cannot take this back", *op.To, op.Undoes)
			break
		}
	}
	return snapshot.Op{}, nothing.
		Hint("`git smithers ops %s` lists the run's operations", fault.Word(head.Row().ID)).Detail("runId", head.Row().ID)
}

// refuseEngines returns undo_refused if another engine, which executes the run, made op. Otherwise it returns
// nil.
func refuseEngines(row snapshot.Run, op snapshot.Op) error {
	if !op.ByEngine() {
		return nil
	}
	refused := fault.New(fault.UndoRefused, "op %d of run %q was made by the engine that executes the run, which went back to frame %d",
		op.Number, row.ID, *op.To).
		Detail("runId", row.ID)
	if op.Frame != nil && *op.Frame > 0 {
		refused = refused.Hint("`git smithers fork %s` creates a fork from the frame before op %d",
			fault.Word(timeline.Address{Run: row.ID, Frame: *op.Frame - 1}.String()), op.Number)
	}
	return refused
}

// newestOp returns the newest op that is neither undone nor an undo. The boolean is false if ops has no such
// op.
func newestOp(ops []snapshot.Op) (snapshot.Op, bool) {
	for _, op := range slices.Backward(ops) {
		if op.Kind != snapshot.OpUndo && op.UndoneBy == 0 {
			return op, true
		}
	}
	return snapshot.Op{}, false
}
