package travel

import (
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// destination is the place to which a run goes back.
type destination struct {
	then    *snapshot.Entry  // has the state; no frame lies between it and the frame of address
	address timeline.Address // the newest frame at that time; an ancestor's if it is older than the fork
	based   int64            // the number of that frame; snapshot.NoFrame if it is an ancestor's
}

// own returns the number of the frame, or nil if the frame is an ancestor's.
func (p *destination) own() *int64 {
	if p.based == snapshot.NoFrame {
		return nil
	}
	return &p.based
}

// name names the frame in words for readers of the given run.
func (p *destination) name(run string) string {
	if p.address.Run == run {
		return "frame " + strconv.FormatInt(p.address.Frame, 10)
	}
	return p.address.String()
}

// beforeAttempt returns the newest entry without the attempt, which is the state just before the attempt began: every
// entry after an attempt's first keeps the attempt in its journal.
func beforeAttempt(s *timeline.Store, head *timeline.Head, key string) (*destination, error) {
	var read objstore.ID
	var then *snapshot.Entry
	for entry, err := range snapshot.Ancestry(s.Objects(), head.Entry()) {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if then == nil {
			attempts, err := entry.Attempts()
			if err != nil {
				return nil, timeline.Explain(err)
			}
			if attempts.ID() == read && !read.IsZero() {
				continue
			}
			read = attempts.ID()
			_, has, err := attempts.Get(key)
			if err != nil {
				return nil, timeline.Explain(err)
			}
			if has {
				continue
			}
			then = entry
		}
		if entry.Frame != snapshot.NoFrame {
			return destinationAt(head.Row().ID, then, entry), nil
		}
	}
	return nil, fault.New(fault.FrameNotFound, "attempt %s of run %q began in its first frame: no frame is older", key, head.Row().ID).
		Hint("`git smithers reset %s` begins anew", fault.Word(head.Row().ID))
}

// destinationAt returns the destination for the entry then. frame is the newest frame at that time.
func destinationAt(run string, then, frame *snapshot.Entry) *destination {
	switch {
	case frame.Run == run:
		return &destination{then, timeline.Address{Run: run, Frame: frame.Frame}, frame.Frame}
	case then.Run == run: // a fork's first own entry is not a frame; its frame 0 is the parent's
		return &destination{then, timeline.Address{Run: run, Frame: 0}, 0}
	}
	return &destination{then, timeline.Address{Run: frame.Run, Frame: frame.Frame}, snapshot.NoFrame}
}

// dropped returns the numbers of the frames, oldest first, that the timeline of the tip has and that the timeline of
// a new frame, based on the frame based, does not have. newest is the tip's newest frame.
func dropped(s *timeline.Store, tip *snapshot.Entry, newest, based int64) ([]int64, error) {
	out := []int64{}
	live, kept := newest, based
	step := func(entry *snapshot.Entry, cursor *int64) {
		if *cursor = entry.Frame - 1; entry.Based != nil {
			*cursor = *entry.Based
		}
	}
	for entry, err := range s.Chain(tip) {
		if err != nil {
			return nil, err
		}
		if live == kept {
			break
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		has := entry.Frame == kept
		if has {
			step(entry, &kept)
		}
		if entry.Frame == live {
			step(entry, &live)
			if !has {
				out = append([]int64{entry.Frame}, out...)
			}
		}
	}
	if live == 0 && kept != 0 { // a fork's frame 0 may be its parent's, and so not in its chain
		out = append([]int64{0}, out...)
	}
	return out, nil
}
