package travel

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// unownedAt opens the run of an address. If the address names a frame, unownedAt also loads the frame; otherwise the
// frame is nil. The error is run_owned as in [timeline.Head.RefuseExecuted].
func unownedAt(ctx context.Context, s *timeline.Store, address string, force bool) (*timeline.Head, *timeline.LoadedEntry, error) {
	head, frame, err := s.OpenToChange(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return head, frame, head.RefuseExecuted(force)
}

// travelToFrame takes the run of head back to frame. If frame is nil, the error is invalid_address. The op is recorded
// as a reset to the frame, because every version of git-smithers can undo such a reset. An op of the kind travel
// without a node belongs to another engine.
func travelToFrame(ctx context.Context, s *timeline.Store, head *timeline.Head, frame *timeline.LoadedEntry, req Request) (*Result, error) {
	if frame == nil {
		return nil, fault.New(fault.InvalidAddress, "travel needs a frame or a node, but %q is a run", req.Run).
			Hint("name a frame, such as %s:6", fault.Word(req.Run)).
			Hint("add --node ID to go back to the state before a task")
	}
	t := newPlan(s, head, snapshot.Op{Kind: snapshot.OpReset, To: &frame.Address.Frame})
	t.agree, t.out.To, t.keeps = req.Agree, frame.Address, req.Signals
	where := fmt.Sprintf("frame %d", frame.Address.Frame)
	t.subject = "back to " + where
	to := &destination{frame.Entry, frame.Address, frame.Address.Frame}
	t.turn = func(at int64) (*turn, error) { return t.back(to, where, "", req.Redefinition, at) }
	t.stays = files.Trail(req.File)
	t.effects, t.dryRun, t.files.DryRun = req.Effects, req.DryRun, req.DryRun != nil
	if t.confirm = req.Confirm; !req.NoFiles {
		if err := t.restores(ctx, frame.Entry, nil); err != nil {
			return nil, err
		}
	}
	return t.do(ctx)
}
