package timeline

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// SteppedOver is a frame that dropped earlier frames from the run's timeline, as a travel, a reset or an undo
// does.
type SteppedOver struct {
	Frame   int64  `json:"frame"`   // the frame's number
	Subject string `json:"subject"` // the subject of the frame's entry
}

// FindSteppedOver returns the frame that dropped another frame from its run's timeline. at is the address of the
// dropped frame. If the frame at this address is part of the timeline, FindSteppedOver returns nil. If the run has
// no ops, or the frame is the run's newest, FindSteppedOver reads the tip alone. Otherwise, it reads the entries
// from the tip down to the frame.
func FindSteppedOver(ctx context.Context, s *Store, at Address) (*SteppedOver, error) {
	tip, err := s.Newest(ctx, at.Run)
	if err != nil {
		return nil, err
	}
	ops, err := tip.Entry.Ops()
	if err != nil {
		return nil, Explain(err)
	}
	if ops.Len() == 0 || at.Frame == tip.Address.Frame {
		return nil, nil //nolint:nilnil // the frame is part of the timeline
	}
	live := tip.Address.Frame // the newest frame of the timeline that the walk has not reached
	for entry, err := range s.Chain(tip.Entry) {
		if err != nil {
			return nil, Explain(err)
		}
		if ctx.Err() != nil {
			return nil, Explain(ctx.Err())
		}
		if entry.Frame != live || entry.Frame == snapshot.NoFrame {
			continue
		}
		// The frame dropped all frames between it and the frame on which it is based.
		live = entry.Frame - 1
		if entry.Based != nil {
			live = *entry.Based
		}
		switch {
		case at.Frame >= entry.Frame:
			return nil, nil //nolint:nilnil // the frame is part of the timeline
		case at.Frame > live:
			return &SteppedOver{entry.Frame, entry.Subject}, nil
		}
	}
	return nil, nil //nolint:nilnil // frame 0 of a fork that changed nothing is the parent's, and never dropped
}
