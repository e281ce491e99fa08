package timeline

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// SteppedOver is the frame by which a run left an earlier one out of its timeline.
type SteppedOver struct {
	Frame   int64  `json:"frame"`
	Subject string `json:"subject"`
}

// FindSteppedOver finds the frame by which the run stepped over the frame at an address; nil
// for one that is part of the run's timeline. Where no op was ever done to the run, it
// reads the tip alone, and else every entry after that frame.
func FindSteppedOver(ctx context.Context, s *Store, at Address) (*SteppedOver, error) {
	tip, err := s.Load(ctx, at.Run)
	if err != nil {
		return nil, err
	}
	ops, err := tip.Entry.Ops()
	if err != nil {
		return nil, Explain(err)
	}
	if ops.Len() == 0 || at.Frame == tip.Address.Frame {
		return nil, nil //nolint:nilnil // it is part of the timeline
	}
	live := tip.Address.Frame // the newest frame of the timeline that was not met yet
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
		live = entry.Frame - 1
		if entry.Based != nil {
			live = *entry.Based
		}
		switch {
		case at.Frame >= entry.Frame:
			return nil, nil //nolint:nilnil // the same
		case at.Frame > live:
			return &SteppedOver{entry.Frame, entry.Subject}, nil
		}
	}
	return nil, nil //nolint:nilnil // frame 0 of a fork that changed nothing is its parent's
}
