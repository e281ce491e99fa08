package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// frame is a frame of a run of ours. Where a fork changed nothing of the frame that it
// was forked from, the entry of its frame 0 is its own first one, which is none.
type frame struct {
	number int64
	based  int64 // the frame of the run that it goes on from, or snapshot.NoFrame
	entry  *snapshot.Entry
}

// framesOf lists all frames of the run that has the tip, those that were dropped too, by
// their numbers.
func framesOf(s *timeline.Store, tip *snapshot.Entry) ([]frame, error) {
	row, err := tip.RunRow()
	if err != nil {
		return nil, err
	}
	frames := make([]frame, row.Frame+1)
	var first *snapshot.Entry
	for entry, err := range s.Chain(tip) {
		if err != nil {
			return nil, err
		}
		first = entry
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		frames[entry.Frame] = frameAt(entry)
	}
	if frames[0].entry == nil {
		frames[0] = frame{based: snapshot.NoFrame, entry: first}
	}
	return frames, nil
}

// frameAt is the frame that an entry is.
func frameAt(entry *snapshot.Entry) frame {
	f := frame{number: entry.Frame, based: entry.Frame - 1, entry: entry}
	if entry.Based != nil {
		f.based = *entry.Based
	}
	return f
}

// lineTo is the frames from the run's first to a frame, as each goes on from the one before it.
func lineTo(frames []frame, last int64) []frame {
	var line []frame
	for at := last; at >= 0 && at < int64(len(frames)); at = frames[at].based {
		line = append(line, frames[at])
	}
	for i, j := 0, len(line)-1; i < j; i, j = i+1, j-1 {
		line[i], line[j] = line[j], line[i]
	}
	return line
}

// meeting is where Smithers' list of frames parts from ours.
type meeting struct {
	end   int64 // our frame up to which the two are the same, or snapshot.NoFrame
	count int   // how many of Smithers' are
}

// meet finds the longest beginning of Smithers' list that is a line of ours. Frames are the same
// that have the same number of Smithers' and time; frame 0 of a fork always is. What
// Smithers never had is passed over.
func meet(frames []frame, known *peer, fork bool, heads []source.Head) meeting {
	best := meeting{end: snapshot.NoFrame}
	on := make([]int, len(frames)) // how many of Smithers' are on the line to a frame, and -1 off the list
	for i, f := range frames {
		on[i] = -1
		count := 0
		if f.based != snapshot.NoFrame {
			count = on[f.based]
		}
		no := known.peerNo(f.number)
		switch {
		case count < 0:
		case no == tables.NoNumber:
			on[i] = count
		case count < len(heads) && heads[count].Frame == no && (heads[count].AtMs == f.entry.AtMs || fork && f.number == 0):
			on[i] = count + 1
		}
		if on[i] >= best.count && on[i] >= 0 {
			best = meeting{end: f.number, count: on[i]}
		}
	}
	return best
}
