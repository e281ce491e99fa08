package travel

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// undoFork takes back op, the fork that created the run of head: it marks the fork as undone and cancels the run. The
// error is undo_refused if the fork has run; see refuseStarted. undoFork needs no claim, because it appends one entry
// to exactly the tip that it has checked.
func undoFork(ctx context.Context, s *timeline.Store, head *timeline.Head, op snapshot.Op) (*Result, error) {
	t := newPlan(s, head, snapshot.Op{Kind: snapshot.OpUndo, Undoes: op.Number})
	err := head.Update(ctx, func() (*snapshot.Draft, error) {
		if err := refuseStarted(s, head, op); err != nil {
			return nil, err
		}
		at := s.Now().UnixMilli()
		draft := &snapshot.Draft{
			Subject: "undone: fork", AtMs: at,
			Events: []snapshot.Event{
				timeline.NewEvent("RunCancelled", at, struct {
					Run string `json:"runId"`
				}{head.Row().ID}),
				statusEvent(head.Row().ID, snapshot.RunCancelled, at),
			},
			Run: func(row *snapshot.Run) {
				row.Status, row.FinishedAtMs = snapshot.RunCancelled, &at
				if row.Parent != nil {
					row.Parent.Undone = true
				}
			},
		}
		var err error
		if t.out.Op, err = head.AddOp(draft, t.op); err != nil {
			return nil, err
		}
		op.UndoneBy = t.out.Op.Number
		draft.Journal = append(draft.Journal, timeline.SetOp(op))
		return draft, nil
	})
	if err != nil {
		return nil, err
	}
	row := head.Row()
	t.out.Undone, t.out.Frame, t.out.From, t.out.Status = &op, row.Frame, row.Frame, row.Status
	if row.Parent != nil {
		t.out.To = timeline.Address{Run: row.Parent.RunID, Frame: row.Parent.Frame}
	}
	return t.out, nil
}

// refuseStarted returns undo_refused in these cases: the fork has run, a fetch made the fork from existing
// entries, or the run has a newer op than op. It returns run_owned if a live process owns the run. In all other
// cases, it returns nil.
func refuseStarted(s *timeline.Store, head *timeline.Head, op snapshot.Op) error {
	if err := s.RefuseOwned(head.Row()); err != nil {
		return err
	}
	if why, err := whyPassed(head.Entry(), op); err != nil {
		return err
	} else if why == PassedFetched {
		return fault.New(fault.UndoRefused, "undo cannot take back run %q, a fork that a fetch made with entries of run %q",
			head.Row().ID, head.Row().Parent.RunID).
			Hint("`git smithers prune %s` removes the fork", fault.Word(head.Row().ID)).
			Hint("`git smithers prune --undo %s` brings the removed fork back", fault.Word(head.Row().ID)).Detail("runId", head.Row().ID)
	}
	ops, err := timeline.OpsAt(head.Entry())
	if err != nil {
		return err
	}
	if newest, ok := newestOp(ops); head.Row().StartedAtMs == nil && ok && newest.Number == op.Number {
		return nil
	}
	return fault.New(fault.UndoRefused, "undo cannot take back run %q, a fork that has run", head.Row().ID).
		Hint("`git smithers reset %s` takes the fork back to its beginning", fault.Word(head.Row().ID)).Detail("runId", head.Row().ID)
}
