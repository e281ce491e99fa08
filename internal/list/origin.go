package list

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Origin is the frame from which a run was forked.
type Origin struct {
	At timeline.Address // the address of the parent's frame
	// Elsewhere is true if only another repository has the frame: the run with the parent's id in this repository has
	// another history.
	Elsewhere bool
}

// OriginOf returns the origin of the run of row, or nil if the run is not a fork. If a split has moved the
// parent's frame to a fork of the parent, the address names that fork. Otherwise, it is the address in row.
// Elsewhere is true if this repository has a run with the parent's id, the run lacks the frame, and no split has
// moved the frame. If OriginOf cannot read the parent or the index, Elsewhere is false.
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
	// A split may have moved the frame to a fork of the parent. The index knows the fork.
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
