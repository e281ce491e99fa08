package kept

import (
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Frame is a frame of our run. If a fork changed nothing of its parent's frame, the fork's frame 0 has the fork's
// first entry, although that entry is not a frame.
type Frame struct {
	Number int64
	Based  int64 // the frame of the run on which it is based, or snapshot.NoFrame
	Entry  *snapshot.Entry
}

// FramesOf returns all frames of a tip's run by number, including dropped ones.
func FramesOf(s *timeline.Store, tip *snapshot.Entry) ([]Frame, error) {
	row, err := tip.RunRow()
	if err != nil {
		return nil, err
	}
	frames := make([]Frame, row.Frame+1)
	var first *snapshot.Entry
	for entry, err := range s.Chain(tip) {
		if err != nil {
			return nil, err
		}
		first = entry
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		frames[entry.Frame] = FrameOf(entry)
	}
	if frames[0].Entry == nil {
		frames[0] = Frame{Based: snapshot.NoFrame, Entry: first}
	}
	return frames, nil
}

// FrameOf returns the frame of an entry, which must be a frame.
func FrameOf(entry *snapshot.Entry) Frame {
	f := Frame{Number: entry.Frame, Based: entry.Frame - 1, Entry: entry}
	if entry.Based != nil {
		f.Based = *entry.Based
	}
	return f
}

// LineTo returns the frames from the run's first to a frame. Each is based on the one before.
func LineTo(frames []Frame, last int64) []Frame {
	var line []Frame
	for at := last; at >= 0 && at < int64(len(frames)); at = frames[at].Based {
		line = append(line, frames[at])
	}
	for i, j := 0, len(line)-1; i < j; i, j = i+1, j-1 {
		line[i], line[j] = line[j], line[i]
	}
	return line
}

// Meeting is the last common frame of Smithers' list of frames and ours.
type Meeting struct {
	End   int64 // our number of the last common frame, or snapshot.NoFrame
	Count int   // number of Smithers' frames up to it
}

// Meet finds the longest beginning of Smithers' list that is a line of ours. Two frames are the same if Smithers'
// number and the time are equal. Frame 0 of a fork matches whatever its time. Frames that Smithers never had are
// skipped.
func Meet(frames []Frame, known *Peer, fork bool, heads []source.Head) Meeting {
	best := Meeting{End: snapshot.NoFrame}
	on := make([]int, len(frames)) // Smithers' frames on the line to each frame; -1 if the line differs
	for i, f := range frames {
		on[i] = -1
		count := 0
		if f.Based != snapshot.NoFrame {
			count = on[f.Based]
		}
		no := known.PeerNo(f.Number)
		switch {
		case count < 0:
		case no == tables.NoNumber:
			on[i] = count
		case count < len(heads) && heads[count].Frame == no && (heads[count].AtMs == f.Entry.AtMs || fork && f.Number == 0):
			on[i] = count + 1
		}
		if on[i] >= best.Count && on[i] >= 0 {
			best = Meeting{End: f.Number, Count: on[i]}
		}
	}
	return best
}
