package travel

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// undoFork takes a fork back that has not run. It needs no claim: the one entry is
// appended on exactly the tip that was looked at.
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

// refuseStarted is undo_refused for a fork that has run, that a fetch made of entries that were there, or that is
// being taken back.
func refuseStarted(s *timeline.Store, head *timeline.Head, op snapshot.Op) error {
	if err := s.RefuseOwned(head.Row()); err != nil {
		return err
	}
	if why, err := whyPassed(head.Entry(), op); err != nil {
		return err
	} else if why == PassedFetched {
		return fault.New(fault.UndoRefused, "run %q has entries that a fetch moved into it from run %q: it is not taken back",
			head.Row().ID, head.Row().Parent.RunID).
			Hint("`git smithers prune %s` removes it, until `prune --undo`", fault.Word(head.Row().ID)).Detail("runId", head.Row().ID)
	}
	ops, err := timeline.OpsAt(head.Entry())
	if err != nil {
		return err
	}
	if newest, ok := newestOp(ops); head.Row().StartedAtMs == nil && ok && newest.Number == op.Number {
		return nil
	}
	return fault.New(fault.UndoRefused, "run %q is a fork that has run: it is not taken back any more", head.Row().ID).
		Hint("what it has done stays in its history; `git smithers runs` lists it").Detail("runId", head.Row().ID)
}
