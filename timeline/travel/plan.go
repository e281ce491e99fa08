package travel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/claim"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// newPlan is one travel, reset or undo: it gives a run another state and, where it
// restores files, another working copy, in one frame.
type plan struct {
	store   *timeline.Store
	head    *timeline.Head
	op      snapshot.Op
	undoes  *snapshot.Op                   // the op that is taken back; nil for none
	subject string                         // of the frame
	missing []snapshot.Worktree            // tasks' own worktrees of then that are not here
	files   *code.RestoreJobs              // of nothing where the working copy is left alone
	confirm code.ConfirmRemoval            // asks about untracked files; nil: nobody is asked
	stays   []string                       // absolute paths in the working copies that are left alone
	agree   func(*snapshot.Workflow) error // see Redefinition; nil: nobody is asked
	// turn returns how the run changes, computed on the tip of that moment. It writes nothing.
	turn func(at int64) (*turn, error)
	out  *Result
}

// turn is how a run changes.
type turn struct {
	then     *snapshot.Entry    // whose state and rendered tree the run gets; nil: the tip's
	state    []snapshot.Change  // of that state
	based    *int64             // the frame that it goes on from; nil: the tip's
	steps    *stepping          // how attempts change; nil: not at all
	status   snapshot.RunStatus // "": as it is
	rendered json.RawMessage    // in place of the one of then; nil: that
	workflow *snapshot.Workflow // nil: as it is
	row      func(*snapshot.Run)
}

func newPlan(s *timeline.Store, head *timeline.Head, op snapshot.Op) *plan {
	return &plan{
		store: s, head: head, op: op, files: &code.RestoreJobs{Store: s, Head: head},
		out: &Result{
			Run: head.Row().ID, Reset: []string{}, Cancelled: []string{}, Dropped: []int64{},
			Worktrees: []*code.Restored{}, Missing: []string{},
		},
	}
}

// do refuses what can be refused, and only then writes: it claims the run, saves and
// restores the files, and appends the frame, which gives the run back.
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
	held, err := t.claim(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := held.Release(ctx); err != nil {
			t.store.Warn(fmt.Errorf("give run %q back: %w", t.head.Row().ID, err))
		}
	}()
	t.endCommands(ctx)
	t.files.Fence = func() error { return t.fence(held) }
	announced := t.files.Changes()
	if announced {
		if err := t.files.Save(ctx, t.subject, t.started); err != nil {
			return nil, err
		}
	}
	if err := t.files.Restore(ctx); err != nil {
		return nil, t.failed(ctx, err, announced)
	}
	t.op.Files = announced
	if err := t.record(context.WithoutCancel(ctx), announced); err != nil {
		if announced {
			err = fault.New(fault.CodeOf(err), "the files are restored, but no frame says so: %w", err)
		}
		return nil, err
	}
	return t.out, nil
}

// prepare refuses what can be refused. It writes nothing.
func (t *plan) prepare(ctx context.Context) error {
	if err := t.files.Prepare(ctx); err != nil {
		return err
	}
	_, err := t.draft()
	return timeline.Explain(err)
}

// askFor asks for consent to the definition with which the run goes on; nil is the tip's.
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

// claim makes the run this process's. Who moves the tip meanwhile without touching what
// the operation is about is no obstacle.
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

// endCommands ends what is left of the commands of a process that was killed: they would
// go on to write into the files that are about to be restored.
func (t *plan) endCommands(ctx context.Context) {
	n, err := claim.CommandsOf(t.store, t.head.Row().ID).EndLeft(ctx, claim.CommandGrace)
	if n > 0 {
		t.store.Warn(fmt.Errorf("commands of another process of run %q were still at work: %d processes were ended", t.head.Row().ID, n))
	}
	if err != nil {
		t.store.Warn(fmt.Errorf("something of another process of run %q may still be at work: %w", t.head.Row().ID, err))
	}
}

// sameOps reports whether nothing was done to a run as a whole between two entries.
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

// fence refuses to write for a run that somebody else has taken over.
func (t *plan) fence(held *claim.Claim) error {
	if t.head.Row().Owner == held.Token {
		return nil
	}
	return fault.New(fault.Conflict, "run %q was taken over by another process", t.head.Row().ID).
		Hint("nothing more is written by this one")
}

// record appends the frame.
func (t *plan) record(ctx context.Context, announced bool) error {
	var steps *stepping
	err := t.files.Update(ctx, func() (*snapshot.Draft, error) {
		draft, err := t.draft()
		if err != nil {
			return nil, err
		}
		if !announced {
			draft.Events = append(t.started(t.head.Row().Frame), draft.Events...)
		}
		if _, err := t.files.Capture(draft.Draft, code.CapturedAfter); err != nil {
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

// travelDraft is the draft of a travel's frame, but for its files and op.
type travelDraft struct {
	*snapshot.Draft
	steps *stepping
}

// draft is the frame on the tip as it is now, and notes in out what it does.
func (t *plan) draft() (*travelDraft, error) {
	at := t.store.Now().UnixMilli()
	turn, err := t.turn(at)
	if err != nil {
		return nil, err
	}
	state := t.head.State()
	draft := &snapshot.Draft{
		Frame:    &snapshot.FrameDraft{State: turn.state, Based: turn.based, Rendered: turn.rendered},
		Workflow: turn.workflow,
		Subject:  t.subject, AtMs: at,
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
	next, err := state.EditWithin(t.store.Settings().Limits, t.store.Objects().Begin(), turn.state)
	if err != nil {
		return nil, err
	}
	if t.out.Reset, err = becamePending(t.head.State(), next); err != nil {
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

// redefine gives a turn the workflow with which the run goes on: that of the request or
// else, where it is another than the tip's, the one of then.
func (t *plan) redefine(turn *turn, re Redefinition) error {
	if re.Workflow != nil {
		turn.workflow = re.Workflow
		turn.row = func(row *snapshot.Run) {
			if re.WorkflowPath != "" {
				row.WorkflowPath = re.WorkflowPath
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

// failed records that the files could not be restored, and that nothing else has changed.
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
		t.store.Warn(fmt.Errorf("record that the files could not be restored: %w", err))
	}
	return cause
}
