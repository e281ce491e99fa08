package travel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/back/land"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// plan is one travel, reset or undo. It appends one frame with another state and, if it restores files, other
// files of the working copies.
type plan struct {
	store   *timeline.Store
	head    *timeline.Head
	op      snapshot.Op
	keeps   bool                           // the signals that have come stay
	undoes  *snapshot.Op                   // the op that an undo takes back; nil for a travel or reset
	subject string                         // the subject of the frame's commit
	missing []snapshot.Worktree            // recorded worktrees of tasks that no longer exist
	files   *files.RestoreJobs             // without jobs if all working copies stay unchanged
	confirm files.ConfirmRemoval           // asks about untracked files; nil removes them without a question
	effects timeline.ConfirmEffects        // asks about effects that are stepped over; nil steps over them
	land    *land.TakeBack                 // takes a landing back after its files are restored; nil for other ops
	stays   []string                       // absolute paths that no restore changes
	agree   func(*snapshot.Workflow) error // see Redefinition.Agree; nil agrees
	dryRun  func(*snapshot.Draft) error    // see Request.DryRun
	// turn returns how the run changes, computed on the current tip. at is the time in milliseconds since 1970. turn
	// writes nothing.
	turn func(at int64) (*turn, error)
	out  *Result
}

// turn is the change that a plan makes to a run.
type turn struct {
	then     *snapshot.Entry     // the entry whose state and rendered tree the run gets; nil keeps those of the tip
	state    []snapshot.Change   // changes to the state of then or, if then is nil, of the tip
	based    *int64              // the frame that the new frame is based on; nil means the tip's newest frame
	steps    *attemptChanges     // changes to attempts; nil if no attempt changes
	status   snapshot.RunStatus  // the run's new status; "" keeps the status
	rendered json.RawMessage     // the rendered tree; nil means the tree of then
	workflow *snapshot.Workflow  // the run's new workflow; nil keeps the workflow
	row      func(*snapshot.Run) // makes further changes to the run's row; nil makes no change
	earlier  *snapshot.Run       // the row from which row takes the error; may be nil
}

// newPlan returns a plan for op on the run of head. The plan has no files to restore, and its function turn, which
// computes the change to the run, is not set.
func newPlan(s *timeline.Store, head *timeline.Head, op snapshot.Op) *plan {
	return &plan{
		store: s, head: head, op: op, files: &files.RestoreJobs{Store: s, Head: head},
		out: &Result{
			Run: head.Row().ID, Reset: []string{}, Cancelled: []string{}, Signals: []string{}, Dropped: []int64{},
			Worktrees: []*files.RestoreResult{}, Missing: []string{},
		},
	}
}

// do executes the plan and returns its result. It first makes every check that can refuse the operation. Then it claims
// the run, saves and restores the files, and appends the frame. The frame also ends the claim. If a restore fails after
// t.files.Save has appended the start event, do appends the end event with the error; see failed.
func (t *plan) do(ctx context.Context) (*Result, error) {
	defer t.files.Close()
	if err := t.files.Confirmed(ctx, t.confirm, func() error { return t.prepare(ctx) }); err != nil {
		return nil, t.hintNoFiles(err)
	}
	draft, err := t.draft()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if err := t.askFor(draft.Workflow); err != nil {
		return nil, err
	}
	if err := t.askAboutEffects(ctx); err != nil {
		return nil, err
	}
	if t.dryRun != nil {
		return t.out, t.dryRun(draft.Draft)
	}
	held, err := t.claim(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := held.Release(ctx); err != nil {
			t.store.Warn(fmt.Errorf("the claim of run %q was not released: %w", t.head.Row().ID, err))
		}
	}()
	claim.EndLeft(ctx, t.head, held) // these commands could still write to the files that the plan restores
	t.files.Fence = func() error { return t.fence(held) }
	// If no file changes, record adds the start event to the frame instead of Save.
	announced := t.files.Changes()
	if announced {
		if err := t.files.Save(ctx, t.subject, t.started); err != nil {
			return nil, err
		}
	}
	if err := t.files.Restore(ctx); err != nil {
		return nil, t.failed(ctx, err, announced)
	}
	if t.land != nil {
		if err := t.land.Do(context.WithoutCancel(ctx)); err != nil {
			return nil, t.failed(ctx, err, announced)
		}
	}
	t.op.Files = announced
	// The files are restored, so the frame must be recorded even if ctx has ended.
	if err := t.record(context.WithoutCancel(ctx), announced); err != nil {
		if announced {
			err = fault.New(fault.CodeOf(err), "the files are restored, but the frame could not be recorded: %w", err)
		}
		return nil, err
	}
	return t.out, nil
}

// prepare makes every check that can refuse the operation. It writes nothing. It also sets the fields of
// t.out that follow from the draft.
func (t *plan) prepare(ctx context.Context) error {
	if err := t.files.Prepare(ctx); err != nil {
		return err
	}
	_, err := t.draft()
	return timeline.Explain(err)
}

// askFor asks t.agree for consent to workflow, the definition with which the run continues. A nil workflow
// means the tip's workflow. askFor returns nil without a question if t.agree is nil, or if the run has no
// workflow.
func (t *plan) askFor(workflow *snapshot.Workflow) error {
	if t.agree == nil {
		return nil
	}
	if workflow == nil {
		var err error
		if workflow, err = t.head.Entry().Workflow(); err != nil || workflow == nil {
			return timeline.Explain(err)
		}
	}
	return t.agree(workflow)
}

// askAboutEffects asks t.effects about the effects of the run that the operation steps over.
func (t *plan) askAboutEffects(ctx context.Context) error {
	if t.effects == nil {
		return nil
	}
	turn, err := t.turn(t.store.Now().UnixMilli())
	if err != nil {
		return timeline.Explain(err)
	}
	base := t.head.Entry()
	if turn.then != nil {
		base = turn.then
	}
	state, err := base.State()
	if err == nil {
		state, err = state.EditWithin(t.store.Settings().Limits, t.store.Objects().Begin(), turn.state)
	}
	if err != nil {
		return timeline.Explain(err)
	}
	effects, err := timeline.Effects(t.head.Entry(), base, state)
	if err != nil || len(effects) == 0 {
		return err
	}
	return t.effects(ctx, effects)
}

// claim claims the run for this process. If another process has moved the tip, claim tries again. It does not try
// again if the frame, the epoch or the ops of the run have changed. The error is then conflict.
func (t *plan) claim(ctx context.Context) (*claim.Claim, error) {
	before, done := t.head.Row(), t.head.Entry()
	for try := 1; ; try++ {
		held, err := claim.Take(ctx, t.head, claim.Request{})
		if fault.CodeOf(err) != fault.Conflict || err == nil {
			return held, err
		}
		if err := timeline.Pause(ctx, try); err != nil {
			return nil, timeline.Explain(err)
		}
		if err := t.head.Refresh(ctx); err != nil {
			return nil, err
		}
		same, opsErr := sameOps(done, t.head.Entry())
		if now := t.head.Row(); opsErr != nil || !same || now.Frame != before.Frame || now.Epoch != before.Epoch {
			return nil, errors.Join(err, opsErr)
		}
	}
}

// sameOps reports whether the entries a and b of a run have the same ops.
func sameOps(a, b *snapshot.Entry) (bool, error) {
	before, err := a.Ops()
	if err != nil {
		return false, timeline.Explain(err)
	}
	now, err := b.Ops()
	if err != nil {
		return false, timeline.Explain(err)
	}
	return before.ID() == now.ID(), nil
}

// fence returns the error conflict if runClaim is no longer the run's claim, because another process has taken
// the run over.
func (t *plan) fence(runClaim *claim.Claim) error {
	if t.head.Row().Owner == runClaim.Token {
		return nil
	}
	return fault.New(fault.Conflict, "run %q was taken over by another process", t.head.Row().ID).
		Hint("run the command again when that process has ended")
}

// record appends the frame, with the restored files and the op, and completes t.out. It also marks the op t.undoes, if
// it is not nil, as undone, and removes the live logs that the frame has copied to the journal. announced is true if
// t.files.Save has already appended the start event.
func (t *plan) record(ctx context.Context, announced bool) error {
	var steps *attemptChanges
	// Update calls the function again if another process has moved the tip.
	err := t.files.Update(ctx, func() (*snapshot.Draft, error) {
		draft, err := t.draft()
		if err != nil {
			return nil, err
		}
		if !announced {
			draft.Events = append(t.started(t.head.Row().Frame), draft.Events...)
		}
		if _, err := t.files.Capture(draft.Draft, files.CapturedAfter); err != nil {
			return nil, err
		}
		if err := t.keepMissing(draft.Draft); err != nil {
			return nil, err
		}
		steps = draft.steps
		t.out.Op, err = t.head.AddOp(draft.Draft, t.op)
		if err == nil && t.undoes != nil {
			undone := *t.undoes
			undone.UndoneBy = t.out.Op.Number
			draft.Journal = append(draft.Journal, timeline.SetOp(undone))
			t.out.Undone = &undone
		}
		return draft.Draft, err
	})
	if err != nil {
		return err
	}
	t.out.Frame, t.out.Status = t.head.Row().Frame, t.head.Row().Status
	for _, one := range t.files.All {
		one.Out.Frame = t.files.Newest()
	}
	if steps != nil {
		steps.forgetLogs()
	}
	return nil
}

// travelDraft is the draft of the new frame without its files and its op. steps are the changes to attempts,
// or nil.
type travelDraft struct {
	*snapshot.Draft
	steps *attemptChanges
}

// draft returns the draft of the new frame on the current tip, without its files and its op. t.turn computes the
// change to the run: the state, the attempts, the status and the workflow. The run loses its owner. draft sets
// Reset, From, Dropped and Cancelled of t.out, and stores nothing.
func (t *plan) draft() (*travelDraft, error) {
	at := t.store.Now().UnixMilli()
	turn, err := t.turn(at)
	if err != nil {
		return nil, err
	}
	state := t.head.State()
	draft := &snapshot.Draft{
		Frame:    &snapshot.FrameDraft{State: turn.state, Based: turn.based, Rendered: turn.rendered},
		Workflow: turn.workflow, Earlier: turn.earlier,
		Subject: t.subject, AtMs: at,
	}
	if turn.then != nil {
		if state, err = turn.then.State(); err != nil {
			return nil, err
		}
		draft.Frame.Restore = state
		if draft.Frame.Rendered == nil {
			if draft.Frame.Rendered, err = t.store.Rendered(turn.then); err != nil {
				return nil, err
			}
		}
	}
	if t.keeps {
		if turn.state, err = keepSignals(turn.state, state, t.head.State()); err != nil {
			return nil, err
		}
		draft.Frame.State = turn.state
	}
	// The next state is computed only to find the nodes that became pending. Nothing is stored.
	next, err := state.EditWithin(t.store.Settings().Limits, t.store.Objects().Begin(), turn.state)
	if err != nil {
		return nil, err
	}
	if t.out.Reset, err = becamePending(t.head.State(), next); err != nil {
		return nil, err
	}
	if t.out.Signals, err = lostSignals(t.head.State(), next); err != nil {
		return nil, err
	}
	t.out.From, t.out.Dropped, t.out.Cancelled = t.head.Row().Frame, []int64{}, []string{}
	if turn.based != nil {
		if t.out.Dropped, err = dropped(t.store, t.head.Entry(), t.head.Row().Frame, *turn.based); err != nil {
			return nil, err
		}
	}
	if turn.steps != nil {
		draft.Journal, t.out.Cancelled = turn.steps.changes, turn.steps.cancelled
	}
	draft.Run = func(row *snapshot.Run) {
		row.Owner = ""
		if turn.status != "" {
			row.Status, row.Error, row.FinishedAtMs = turn.status, "", nil
		}
		if turn.row != nil {
			turn.row(row)
		}
	}
	draft.Events = t.finished(turn, at)
	return &travelDraft{draft, turn.steps}, nil
}

// redefine sets the workflow with which the run continues after turn: the workflow of redef or, if redef has none,
// the workflow at turn.then. It sets turn.workflow, and turn.row, a function that updates the run's row. If redef
// has no workflow, and turn.then is nil or has the tip's workflow, redefine changes nothing.
func (t *plan) redefine(turn *turn, redef Redefinition) error {
	if redef.Workflow != nil {
		turn.workflow = redef.Workflow
		turn.row = func(row *snapshot.Run) {
			if redef.WorkflowPath != "" {
				row.WorkflowPath = redef.WorkflowPath
			}
		}
		return nil
	}
	if turn.then == nil {
		return nil
	}
	then, err := turn.then.RunRow()
	if err != nil || then.WorkflowHash == t.head.Row().WorkflowHash {
		return err
	}
	if turn.workflow, err = turn.then.Workflow(); err != nil || turn.workflow == nil {
		return err
	}
	turn.row = func(row *snapshot.Run) { row.Workflow, row.WorkflowPath = then.Workflow, then.WorkflowPath }
	return nil
}

// failed returns cause, the error of a restore. If announced is true, the run has a start event: failed then
// appends the end event with the error, and releases the run. If that append fails, failed warns.
func (t *plan) failed(ctx context.Context, cause error, announced bool) error {
	if !announced {
		return cause
	}
	err := t.files.Update(context.WithoutCancel(ctx), func() (*snapshot.Draft, error) {
		return &snapshot.Draft{
			Subject: "failed: " + t.subject,
			Events:  []snapshot.Event{t.event("TimeTravelFinished", t.head.Row().Frame, &outcome{cause}, t.store.Now().UnixMilli())},
			Run:     func(row *snapshot.Run) { row.Owner = "" },
		}, nil
	})
	if err != nil {
		t.store.Warn(fmt.Errorf("the failed restore was not recorded in the run: %w", err))
	}
	return cause
}
