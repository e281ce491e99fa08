package timeline

import (
	"iter"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Chain yields the entries of a run, newest first, from entry to the run's first entry. After an error, Chain
// ends. A fork's chain leaves out the parent run's entries, except those of the fork's extension; see
// snapshot.Chain.
func (s *Store) Chain(entry *snapshot.Entry) iter.Seq2[*snapshot.Entry, error] {
	return snapshot.Chain(s.objects, entry)
}

// FrameInChain returns the entry of a frame of the run with the given row and tip. It walks the run's chain and uses
// no frame ref. If a fork's chain has no frame 0, its frame 0 is the parent's frame. Code: frame_not_found.
func (s *Store) FrameInChain(row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	return frameInChain(s.objects, row, tip, frame)
}

// frameInChain implements [Store.FrameInChain] on the objects of r.
func frameInChain(r objstore.Reader, row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if frame >= 0 && frame <= row.Frame {
		for entry, err := range snapshot.Chain(r, tip) {
			if err != nil {
				return nil, Explain(err)
			}
			if entry.Frame == frame {
				return entry, nil
			}
		}
		if frame == 0 && row.Parent != nil { // the fork has no frame 0 of its own
			entry, err := snapshot.ReadEntry(r, row.Parent.Commit)
			return entry, Explain(err)
		}
	}
	return nil, fault.New(fault.FrameNotFound, "run %q has no frame %d", row.ID, frame).
		Hint("the run has frames 0 to %d", row.Frame).
		Detail("runId", row.ID).Detail("frame", frame).Detail("latest", row.Frame)
}
