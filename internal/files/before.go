package files

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Before loads the frame on which the frame at is based. A frame is based on the frame that its entry names. If the
// entry names no frame, the frame is based on the frame with the previous number. For frame 0 of a fork, Before loads
// the parent's frame; for frame 0 of any other run, Before returns nil. If at.Entry is an entry after the newest frame,
// Before loads the frame on which the newest frame is based.
func Before(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry) (*timeline.LoadedEntry, error) {
	run, frame := at.Address.Run, at.Address.Frame
	if frame == 0 {
		return forkedFrom(ctx, s, run)
	}
	entry := at.Entry
	if entry.Frame == snapshot.NoFrame {
		newest, err := s.At(ctx, at.Address)
		if err != nil {
			return nil, err
		}
		entry = newest.Entry
	}
	before := frame - 1
	if entry.Based != nil && *entry.Based != snapshot.NoFrame {
		before = *entry.Based
	}
	return s.At(ctx, timeline.Address{Run: run, Frame: before})
}

// forkedFrom loads the frame from which a run was forked. It returns nil if the run is not a fork.
func forkedFrom(ctx context.Context, s *timeline.Store, run string) (*timeline.LoadedEntry, error) {
	head, err := s.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	parent := head.Row().Parent
	if parent == nil {
		return nil, nil //nolint:nilnil // no frame comes before the first frame
	}
	entry, err := snapshot.ReadEntry(s.Objects(), parent.Commit)
	return &timeline.LoadedEntry{Address: timeline.Address{Run: parent.RunID, Frame: parent.Frame}, Entry: entry}, timeline.Explain(err)
}
