package travel

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// unownedAt is openToChange for a run that no live process owns.
func unownedAt(ctx context.Context, s *timeline.Store, address string) (*timeline.Head, *timeline.Loaded, error) {
	head, frame, err := s.OpenToChange(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return head, frame, s.RefuseOwned(head.Row())
}

// travelToFrame goes back to a frame. A travel without a node in the journal is another engine's own, so the op is a
// reset, which git-smithers of any version can undo.
func travelToFrame(ctx context.Context, s *timeline.Store, head *timeline.Head, frame *timeline.Loaded, req Request) (*Result, error) {
	if frame == nil {
		return nil, fault.New(fault.InvalidAddress, "travel needs a frame or a node, and %q is a run", req.Run).
			Hint("name a frame, as in %s:6, or the task that is to run again: --node ID", fault.Word(req.Run))
	}
	t := newPlan(s, head, snapshot.Op{Kind: snapshot.OpReset, To: &frame.Address.Frame})
	t.agree, t.out.To = req.Agree, frame.Address
	where := fmt.Sprintf("frame %d", frame.Address.Frame)
	t.subject = "back to " + where
	to := &destination{frame.Entry, frame.Address, frame.Address.Frame}
	t.turn = func(at int64) (*turn, error) { return t.back(to, where, "", req.Redefinition, at) }
	t.stays = code.Trail(req.File)
	if t.confirm = req.Confirm; !req.NoFiles {
		if err := t.restores(ctx, frame.Entry, nil); err != nil {
			return nil, err
		}
	}
	return t.do(ctx)
}
