package timeline

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// nearFrames is how many frames back from the newest one the chain is walked before the
// index, which takes as long to open as reading that many entries, is asked.
const nearFrames = 64

// findFrame finds a frame of the run whose row and tip are given, without its frame ref:
// through the chain and, where it is far back, by the index, which then has to agree with
// what the commit says.
func findFrame(ctx context.Context, s *Store, row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if frame >= 0 && row.Frame-frame > nearFrames {
		if entry := indexedFrame(ctx, s, row.ID, tip.ID, frame); entry != nil {
			return entry, nil
		}
	}
	return s.FrameInChain(row, tip, frame)
}

// indexedFrame looks a frame up in the index; nil where the index is of no help.
func indexedFrame(ctx context.Context, s *Store, run string, tip objstore.ID, frame int64) *snapshot.Entry {
	index, err := s.index.opened(ctx, s.IndexOptions(), func(x *sqliteindex.Index, ctx context.Context) error { return x.SyncRun(ctx, run) })
	if err != nil || index.Degraded() != nil {
		return nil
	}
	known, ok, err := index.Run(ctx, run)
	if err != nil || !ok || known.Tip != tip {
		return nil
	}
	row, ok, err := index.Frame(ctx, run, frame)
	if err != nil || !ok {
		return nil
	}
	entry, err := snapshot.ReadEntry(s.objects, row.Commit)
	if err != nil || entry.Run != run || entry.Frame != frame {
		return nil // a fork's frame 0 may be its parent's, for one
	}
	return entry
}
