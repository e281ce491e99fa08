package timeline

import (
	"iter"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Chain yields the entries of one run, newest first, from entry to the run's
// first. The entries of the run that it was forked from are not part of it, but for
// those of its extension; see snapshot.Chain.
func (s *Store) Chain(entry *snapshot.Entry) iter.Seq2[*snapshot.Entry, error] {
	return snapshot.Chain(s.objects, entry)
}

// FrameInChain finds a frame of the run whose row and tip are given, without any
// frame ref. A fork that changed nothing has its parent's frame as its frame 0.
func (s *Store) FrameInChain(row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	return frameInChain(s.objects, row, tip, frame)
}

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
		if frame == 0 && row.Parent != nil {
			entry, err := snapshot.ReadEntry(r, row.Parent.Commit)
			return entry, Explain(err)
		}
	}
	return nil, fault.New(fault.FrameNotFound, "run %q has no frame %d", row.ID, frame).
		Hint("its frames are 0 to %d", row.Frame).
		Detail("runId", row.ID).Detail("frame", frame).Detail("latest", row.Frame)
}
