package stored

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Frame is a frame of a run in the repository. A fork that began with the unchanged state of its parent's frame has no
// entry that is frame 0. For such a fork, Entry of frame 0 is the fork's first entry.
type Frame struct {
	Number int64 // git-smithers' number
	Based  int64 // the number of the frame on which this frame is based; snapshot.NoFrame for the run's first frame
	Entry  *snapshot.Entry
}

// FramesOf returns all frames of tip's run, even those on which the newest frame is not based. The index of a frame is
// its number. If no entry of the run is frame 0, Entry of frame 0 is the run's first entry: see Frame.
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

// FrameOf returns the frame of entry. The entry must be a frame.
func FrameOf(entry *snapshot.Entry) Frame {
	f := Frame{Number: entry.Frame, Based: entry.Frame - 1, Entry: entry}
	if entry.Based != nil {
		f.Based = *entry.Based
	}
	return f
}

// LineTo returns the frames from the run's first frame to the frame with the number last. Each frame of the result
// is based on the frame before it. frames is the result of FramesOf. If last is not the index of a frame, LineTo
// returns nil.
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

// Meeting is the point up to which Smithers' list of frames agrees with a line of frames in the repository.
type Meeting struct {
	// End is the number of the newest frame in the repository whose line has exactly the first Count frames of
	// Smithers, or snapshot.NoFrame if there is no such frame. The line may also have frames that Smithers never had,
	// and End may be the number of such a frame.
	End   int64
	Count int // the number of Smithers' frames that agree
}

// Meet compares heads, Smithers' list of frames, with each line of frames in the repository. It looks for the line
// that agrees with the most frames at the beginning of heads. If several lines agree equally, it chooses the line
// with the newest last frame. frames is the result of FramesOf, and known has Smithers' numbers of these frames.
//
// Two frames agree if Smithers' number and the time are equal. If fork is true, the time of frame 0 does not
// count. Meet skips frames that Smithers never had.
func Meet(frames []Frame, known *Peer, fork bool, heads []source.Head) Meeting {
	best := Meeting{End: snapshot.NoFrame}
	on := make([]int, len(frames)) // the number of Smithers' frames on the line to each frame; -1 if the line differs
	for i, f := range frames {
		on[i] = -1
		count := 0
		// A frame is based on an earlier frame, so on[f.Based] is already set.
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
