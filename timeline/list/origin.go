package list

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Origin is where a run was forked from.
type Origin struct {
	At timeline.Address // as it is here
	// Elsewhere tells that the run of that id here is another history than the one that this
	// run was forked from.
	Elsewhere bool
}

// OriginOf finds out where the run of a row was forked from; nil for a run that is no fork.
// A run that is not here is what the row says. That it cannot be told is as if it were not.
func OriginOf(ctx context.Context, s *timeline.Store, row snapshot.Run) *Origin {
	parent := row.Parent
	if parent == nil {
		return nil
	}
	stored := timeline.Address{Run: parent.RunID, Frame: parent.Frame}
	_, tip, err := s.FindRunExactly(ctx, parent.RunID)
	if err != nil {
		return &Origin{At: stored}
	}
	frame, err := s.LoadFrame(ctx, stored, tip)
	if err == nil && frame.Entry.ID == parent.Commit || err != nil && fault.CodeOf(err) != fault.FrameNotFound {
		return &Origin{At: stored}
	}
	// The frame may have become a fork's, which the index knows.
	branch, err := BranchOf(ctx, s, row.ID)
	switch {
	case err != nil:
		return &Origin{At: stored}
	case branch == nil:
		return &Origin{stored, true}
	default:
		return &Origin{At: timeline.Address{Run: branch.ParentRunID, Frame: branch.ParentFrameNo}}
	}
}
