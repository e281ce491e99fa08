package travel

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// ResetRequest asks to take a run back to its beginning or, if Run names a frame, to the state of that frame.
type ResetRequest struct {
	Run     string                  // the run's id, or the address of one of its frames
	Effects timeline.ConfirmEffects // as in Request
	Force   bool                    // as in Request
	Signals bool                    // as in Request
	Redefinition
}

// Reset appends a frame that takes the run back to its beginning. Every node is pending in its first
// iteration, and every loop is at its first iteration. The run has no output, and the mailbox is empty. The
// input stays. All attempts stay in the journal, marked cancelled, and all frames after the first are
// dropped. Reset restores no files. The run is pending.
//
// If Run names a frame, the state is the state of that frame, as after a travel to the frame.
//
// If a process may be executing the run, the error is run_owned, and nothing changes: see [timeline.Head.RefuseExecuted].
func Reset(ctx context.Context, s *timeline.Store, req ResetRequest) (*Result, error) {
	head, frame, err := unownedAt(ctx, s, req.Run, req.Force)
	if err != nil {
		return nil, err
	}
	if frame != nil {
		return travelToFrame(ctx, s, head, frame, Request{Run: req.Run, NoFiles: true, Signals: req.Signals, Effects: req.Effects, Redefinition: req.Redefinition})
	}
	t := newPlan(s, head, snapshot.Op{Kind: snapshot.OpReset, To: new(int64)})
	t.subject, t.agree, t.effects, t.keeps = "reset: begins anew", req.Agree, req.Effects, req.Signals
	t.out.To = timeline.Address{Run: head.Row().ID, Frame: 0}
	t.turn = func(at int64) (*turn, error) { return t.anew(ctx, req.Redefinition, at) }
	return t.do(ctx)
}

// anew returns the change that a reset to the beginning makes to the run. It cancels all attempts, makes every
// node and loop begin in its first iteration, and makes the run pending. redef has the workflow with which the run
// continues. at is the time in milliseconds since 1970. If the workflow is the same as in the first frame, the run
// gets the rendered tree of the first frame.
func (t *plan) anew(ctx context.Context, redef Redefinition, at int64) (*turn, error) {
	steps := t.stepOver("the run began anew", at)
	if err := steps.all(func(snapshot.Attempt) bool { return true }); err != nil {
		return nil, err
	}
	changes, err := reset.All(t.head.State())
	if err != nil {
		return nil, err
	}
	resets := &backReset{store: t.store, state: t.head.State(), changes: changes}
	state, err := resets.now()
	if err != nil {
		return nil, err
	}
	if err := resets.add(redef.prepare(state, t.head.Reveal)); err != nil {
		return nil, err
	}
	turn := &turn{state: resets.changes, based: new(int64), steps: steps, status: snapshot.RunPending}
	if err := t.redefine(turn, redef); err != nil {
		return nil, err
	}
	// The newest rendered tree shows the run's progress, so the reset shows the first frame's tree.
	first, err := t.store.LoadFrame(ctx, t.out.To, t.head.Entry().ID)
	if err != nil {
		return nil, err
	}
	row, err := first.Entry.RunRow()
	if err == nil && row.WorkflowHash == t.head.Row().WorkflowHash {
		turn.rendered, err = t.store.Rendered(first.Entry)
	}
	return turn, err
}
