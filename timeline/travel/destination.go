package travel

import (
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// destination is where a run goes back to.
type destination struct {
	then    *snapshot.Entry  // whose state it is; no frame comes between it and the one of address
	address timeline.Address // the newest frame by then, of an ancestor where it is older than the fork
	based   int64            // that frame in the run; snapshot.NoFrame for an ancestor's
}

// own is the number of the frame where it is one of the run's; nil for an ancestor's.
func (p *destination) own() *int64 {
	if p.based == snapshot.NoFrame {
		return nil
	}
	return &p.based
}

// name is what the run of an id calls the frame.
func (p *destination) name(run string) string {
	if p.address.Run == run {
		return "frame " + strconv.FormatInt(p.address.Frame, 10)
	}
	return p.address.String()
}

// beforeAttempt finds the place before the entry with which an attempt of the journal
// began. What is in the journal once is in every later entry, so that this is the newest
// one without it.
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
	return nil, fault.New(fault.FrameNotFound, "attempt %s of run %q is in its first frame: there is none before it", key, head.Row().ID).
		Hint("`git smithers reset %s` begins anew", fault.Word(head.Row().ID))
}

// destinationAt is the place of an entry and the newest frame by then.
func destinationAt(run string, then, frame *snapshot.Entry) *destination {
	switch {
	case frame.Run == run:
		return &destination{then, timeline.Address{Run: run, Frame: frame.Frame}, frame.Frame}
	case then.Run == run: // the run's own entries begin without a frame: it shares this one with its parent
		return &destination{then, timeline.Address{Run: run, Frame: 0}, 0}
	}
	return &destination{then, timeline.Address{Run: frame.Run, Frame: frame.Frame}, snapshot.NoFrame}
}

// dropped are the numbers of the frames, the oldest first, that belong to the timeline of
// a run's tip and not to that of a frame which is based on another frame instead.
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
	if live == 0 && kept != 0 { // a fork's frame 0 may be its parent's, and none of its chain
		out = append([]int64{0}, out...)
	}
	return out, nil
}
