package timeline

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// nearFrames is the largest distance from the newest frame at which findFrame walks the chain without the index.
// Opening the index takes as long as reading that many entries.
const nearFrames = 64

// findFrame returns the entry of a frame without using the frame's ref. row is the run's row, and tip is the entry
// at the run's tip. If the frame is more than nearFrames frames older than the newest frame, findFrame asks the
// index first. If the frame is nearer, or the index does not help, findFrame walks the chain from tip. Code:
// frame_not_found.
func findFrame(ctx context.Context, s *Store, row snapshot.Run, tip *snapshot.Entry, frame int64) (*snapshot.Entry, error) {
	if frame >= 0 && row.Frame-frame > nearFrames {
		if entry := indexedFrame(ctx, s, row.ID, tip.ID, frame); entry != nil {
			return entry, nil
		}
	}
	return s.FrameInChain(row, tip, frame)
}

// indexedFrame returns the entry of a frame, found through the index. It returns nil if the index is unusable, is
// not at the run's tip, lacks the frame, or disagrees with the commit. It also returns nil for frame 0 of a fork
// if the frame is the parent's.
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
		return nil // the index is wrong, or frame 0 of a fork is the parent's frame
	}
	return entry
}
