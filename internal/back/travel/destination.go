package travel

import (
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// destination is the point in its history to which a run goes back.
type destination struct {
	then    *snapshot.Entry  // the entry whose state the run gets
	address timeline.Address // the newest frame at then; a frame of an ancestor if then is older than the run
	based   int64            // the frame's number in the run; snapshot.NoFrame if the frame belongs to an ancestor
}

// own returns the number of the destination's frame, or nil if this frame belongs to an ancestor.
func (p *destination) own() *int64 {
	if p.based == snapshot.NoFrame {
		return nil
	}
	return &p.based
}

// name returns the name of the destination's frame for people. run is the id of the run that goes back. The name is
// "frame N", or the frame's address if the frame belongs to an ancestor of run.
func (p *destination) name(run string) string {
	if p.address.Run == run {
		return "frame " + strconv.FormatInt(p.address.Frame, 10)
	}
	return p.address.String()
}

// beforeAttempt returns the destination just before the attempt with the key. Its entry is the newest entry without the
// attempt, because every later entry has the attempt in its journal. Its frame is the newest frame at that entry. The
// error is frame_not_found if no frame precedes the attempt.
func beforeAttempt(s *timeline.Store, head *timeline.Head, key string) (*destination, error) {
	var read objstore.ID     // the id of the attempts of the entry that was read last
	var then *snapshot.Entry // the newest entry without the attempt; nil until it is found
	for entry, err := range snapshot.Ancestry(s.Objects(), head.Entry()) {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if then == nil {
			attempts, err := entry.Attempts()
			if err != nil {
				return nil, timeline.Explain(err)
			}
			if attempts.ID() == read && !read.IsZero() { // the same attempts as in the entry that was read last
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
	return nil, fault.New(fault.FrameNotFound, "attempt %s began in the first frame of run %q: no older frame exists", key, head.Row().ID).
		Hint("`git smithers reset %s` takes the run back to its beginning", fault.Word(head.Row().ID))
}

// destinationAt returns the destination at entry for the run with the id run. entry is an entry of the run or of
// an ancestor, and frame is the entry of the newest frame at that point. If frame belongs to the run, the
// destination is this frame. If only entry belongs to the run, the destination is frame 0 of the run. If neither
// belongs to the run, the destination is a frame of the ancestor, and not of the run.
func destinationAt(run string, entry, frame *snapshot.Entry) *destination {
	switch {
	case frame.Run == run:
		return &destination{entry, timeline.Address{Run: run, Frame: frame.Frame}, frame.Frame}
	case entry.Run == run: // the first entry of a fork may be no frame: its frame 0 is then a frame of its parent
		return &destination{entry, timeline.Address{Run: run, Frame: 0}, 0}
	}
	return &destination{entry, timeline.Address{Run: frame.Run, Frame: frame.Frame}, snapshot.NoFrame}
}

// dropped returns the numbers of the frames that leave the timeline if the next frame after tip is based on an
// older frame. based is the number of the older frame, and newest is the number of the newest frame at tip. If
// based is snapshot.NoFrame, the result has all frames of the timeline. The result is sorted and never nil.
func dropped(s *timeline.Store, tip *snapshot.Entry, newest, based int64) ([]int64, error) {
	out := []int64{}
	// live and kept are frame numbers. step moves each of them to the frame on which its frame is based. live starts at
	// the newest frame, and kept starts at based. The frames that live visits before it meets kept are dropped.
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
	if live == 0 && kept != 0 { // a fork's frame 0 may be a frame of its parent, and then the fork's chain does not have it
		out = append([]int64{0}, out...)
	}
	return out, nil
}
