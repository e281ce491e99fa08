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
	Run     string // the run's id; "" for the run with the newest op that was done in this clone and is not undone
	NoFiles bool   // leave the working copy as it is
	Confirm code.ConfirmRemoval
}

// Undo takes back the run's newest travel, reset, revert, restore or fork that has not been taken back. It appends
// and removes nothing.
//
// Undo takes a travel or reset back with a frame that has the state and files of the tip before it. The attempts that
// it cancelled get their earlier state back. The frames since then are dropped. The run gets its earlier status back,
// but a run that was running becomes pending: no process runs it, and resume continues it.
//
// Undo takes a revert or restore back with a frame that has the files of before it. The state stays. A fork is taken
// back only if it has not run: its run is then cancelled and no longer listed among its parent's forks.
//
// Undo leaves the ops of another engine alone, because that engine would not know of the change. Without a run, Undo
// takes back the newest op that was done in this clone. It passes over ops that were done elsewhere: fetched runs
// carry these ops. If the last thing done here is a prune, a fork that has run or a fork that a fetch made, nothing
// is taken back.
//
// The errors are nothing_to_undo if no op can be taken back; undo_refused for a fork that has run or that a fetch
// made, for another engine's op and, without a run, for a prune; run_owned; and every error of Restore. With these
// errors nothing is changed.
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

// filesAlone reports whether an op changed only files, not the state.
func filesAlone(op snapshot.Op) bool {
	return op.Kind == snapshot.OpRevert || op.Kind == snapshot.OpRestore
}

// describeOp describes an op in a few words.
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

// before returns the turn of an undo that goes back to the entry then, which is the entry before the op. row is the
// row of that entry.
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

// opToUndo returns the newest op of a run that undo can take back.
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
			nothing = nothing.Hint("its engine undid op %[2]d itself by continuing from frame %[1]d; this cannot be undone here", *op.To, op.Undoes)
			break
		}
	}
	return snapshot.Op{}, nothing.
		Hint("`git smithers ops %s` lists the run's operations", fault.Word(head.Row().ID)).Detail("runId", head.Row().ID)
}

// refuseEngines returns undo_refused if the op was done by the run's own engine.
func refuseEngines(row snapshot.Run, op snapshot.Op) error {
	if !op.ByEngine() {
		return nil
	}
	refused := fault.New(fault.UndoRefused, "op %d of run %q was done by its engine, which went back to frame %d", op.Number, row.ID, *op.To).
		Detail("runId", row.ID)
	if op.Frame != nil && *op.Frame > 0 {
		refused = refused.Hint("`git smithers fork %s` continues in a fork from the frame before it", fault.Word(timeline.Address{Run: row.ID, Frame: *op.Frame - 1}.String()))
	}
	return refused
}

// newestOp returns the newest op that can be taken back. The boolean is false if the run has none.
func newestOp(ops []snapshot.Op) (snapshot.Op, bool) {
	for _, op := range slices.Backward(ops) {
		if op.Kind != snapshot.OpUndo && op.UndoneBy == 0 {
			return op, true
		}
	}
	return snapshot.Op{}, false
}
