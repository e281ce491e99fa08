package travel

import (
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// UndoRequest asks to take an op back.
type UndoRequest struct {
	Run     string // its id; "": the run with the newest op that was done in this clone and is not undone
	NoFiles bool   // leave the working copy as it is
	Confirm code.ConfirmRemoval
}

// Undo takes back the run's newest travel, reset, revert, restore or fork that has not been
// taken back, by appending.
//
// A travel or reset is taken back by a frame with the state and files of the tip before
// it; attempts that it cancelled are as they were. What happened to the run since is
// stepped over: those frames are dropped. The run has the status that it had, but that one
// which was running is pending: nobody runs it, and resume goes on with it.
//
// A revert or restore is taken back by a frame with the files of before it, and the state
// stays. A fork is taken back only while it has not run: its run is then cancelled, and no
// longer listed among its parent's.
//
// What another engine did in its own run is not taken back here: the run would not be as that
// engine has it. Without a run, Undo takes back what was done last in this clone, and passes over what was done
// elsewhere: runs that were fetched say themselves when something was done to them. What was done last may be a prune, a
// fork that has run, or one that a fetch made: then nothing is taken back.
//
// nothing_to_undo where there is none; undo_refused for a fork that has run or that a fetch made, for what an engine
// did, and without a run for a prune; run_owned, and whatever Restore refuses: then nothing is changed.
func Undo(ctx context.Context, s *timeline.Store, req UndoRequest) (*Result, error) {
	if req.Run != "" {
		return undoNewest(ctx, s, req)
	}
	run, passed, err := runToUndo(ctx, s)
	if err != nil {
		return nil, err
	}
	req.Run = run
	done, err := undoNewest(ctx, s, req)
	if done != nil {
		done.PassedOver = passed
	}
	return done, err
}

// undoNewest takes back the newest op of the run that the request names.
func undoNewest(ctx context.Context, s *timeline.Store, req UndoRequest) (*Result, error) {
	head, err := unowned(ctx, s, req.Run)
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
		return nil, timeline.Explain(fmt.Errorf("the entry before op %d: %w", op.Number, err))
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
	if filesAlone(op) {
		t.turn = func(int64) (*turn, error) { return &turn{}, nil }
	}
	if op.Files && !req.NoFiles {
		var only *string
		if filesAlone(op) {
			only = &op.Worktree
		}
		if err := t.restores(ctx, then, only); err != nil {
			return nil, err
		}
	}
	return t.do(ctx)
}

// filesAlone reports whether an op left the state as it was.
func filesAlone(op snapshot.Op) bool {
	return op.Kind == snapshot.OpRevert || op.Kind == snapshot.OpRestore
}

// describeOp is an op in a few words.
func describeOp(op snapshot.Op) string {
	out := op.Kind
	if op.ByEngine() {
		return fmt.Sprintf("rewound to frame %d", *op.To) // an undo is never taken back
	}
	if op.Kind == snapshot.OpReset && op.To != nil && *op.To > 0 {
		return fmt.Sprintf("back to frame %d", *op.To)
	}
	if op.NodeID != "" {
		out += " to before "
		if op.Kind == snapshot.OpRevert {
			out = op.Kind + " to after "
		}
		out += snapshot.AttemptKey(op.NodeID, op.Iteration, op.Attempt)
	}
	return out
}

// before is the turn of an undo that goes back to the entry before an op.
func (t *plan) before(then *snapshot.Entry, row snapshot.Run, at int64) (*turn, error) {
	steps := t.stepOver("the run went back to before "+describeOp(*t.undoes), at)
	if err := steps.since(then, false); err != nil {
		return nil, err
	}
	status := row.Status
	if status == snapshot.RunRunning {
		status = snapshot.RunPending
	}
	turn := &turn{then: then, based: &row.Frame, steps: steps, status: status}
	if err := t.redefine(turn, Redefinition{}); err != nil {
		return nil, err
	}
	workflow := turn.row
	turn.row = func(now *snapshot.Run) {
		now.Error, now.FinishedAtMs = row.Error, row.FinishedAtMs
		if workflow != nil {
			workflow(now)
		}
	}
	return turn, nil
}

// opToUndo is the newest op of a run that is not undone, and no undo itself.
func opToUndo(head *timeline.Head) (snapshot.Op, error) {
	ops, err := timeline.OpsAt(head.Entry())
	if err != nil {
		return snapshot.Op{}, timeline.Explain(err)
	}
	if op, ok := newestOp(ops); ok {
		return op, refuseEngines(head.Row(), op)
	}
	nothing := fault.New(fault.NothingToUndo, "nothing was done to run %q that could be taken back", head.Row().ID)
	for _, op := range slices.Backward(ops) {
		if op.Kind == snapshot.OpUndo && op.ByEngine() {
			nothing = nothing.Hint("its engine went on from frame %d, without op %d: that stays", *op.To, op.Undoes)
			break
		}
	}
	return snapshot.Op{}, nothing.
		Hint("`git smithers ops %s` lists what was done to it", fault.Word(head.Row().ID)).Detail("runId", head.Row().ID)
}

// refuseEngines is undo_refused for what an engine did in its own run.
func refuseEngines(row snapshot.Run, op snapshot.Op) error {
	if !op.ByEngine() {
		return nil
	}
	refused := fault.New(fault.UndoRefused, "op %d of run %q is its engine's own: it went back to frame %d", op.Number, row.ID, *op.To).
		Detail("runId", row.ID)
	if op.Frame != nil && *op.Frame > 0 {
		refused = refused.Hint("`git smithers fork %s` goes on from the frame before it", fault.Word(timeline.Address{Run: row.ID, Frame: *op.Frame - 1}.String()))
	}
	return refused
}

// newestOp is the newest of a run's ops that can be taken back.
func newestOp(ops []snapshot.Op) (snapshot.Op, bool) {
	for _, op := range slices.Backward(ops) {
		if op.Kind != snapshot.OpUndo && op.UndoneBy == 0 {
			return op, true
		}
	}
	return snapshot.Op{}, false
}
