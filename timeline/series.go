package timeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// seriesPack is how many bytes of objects a series holds in memory before it writes a pack.
const seriesPack = 32 << 20

// Series appends entries to a run together: the run's refs move when all entries are on stable storage, so readers see
// all of them or none. One goroutine at a time may use it.
type Series struct {
	store *Store
	head  *Head           // Commit sets its tip
	from  objstore.ID     // the tip that the series follows; zero before a run's first entry
	run   *snapshot.Run   // the row of a new run; nil if the run exists
	entry *snapshot.Entry // the newest entry
	stone *refs.Update    // removes the tombstone of a revived run; nil for any other run
	made  []refs.FrameRef // the frames of the series, oldest first
	batch *objstore.Batch // the objects that are not in a pack yet
	most  int64           // how many bytes batch may hold
	keeps []func()        // release the pins on the objects that the series refers to, and on its packs
}

// SeriesOf begins a series that follows the tip that head knows. Commit updates head.
func SeriesOf(head *Head) *Series {
	s := head.store
	return &Series{store: s, head: head, from: head.entry.ID, entry: head.entry, batch: s.objects.Begin(), most: seriesPack}
}

// NewSeries begins a new run with the given row. parent is the frame that the run is forked from, as run.Parent says,
// or nil. Without a parent, the first entry is a frame. Codes: run_exists, run_pruned, invalid_run_id.
func NewSeries(ctx context.Context, s *Store, run snapshot.Run, parent *snapshot.Entry) (*Series, error) {
	tip, err := freeTip(ctx, s, run.ID)
	if err != nil {
		return nil, err
	}
	return newSeries(s, tip, run, parent), nil
}

// ReviveSeries is NewSeries, but also takes the id of a run that was pruned and collected: Commit removes its
// tombstone. If the pruned run's history is still held, the error is run_pruned, since `prune --undo` can bring the
// run back.
func ReviveSeries(ctx context.Context, s *Store, run snapshot.Run, parent *snapshot.Entry) (*Series, error) {
	tip, err := absentTip(ctx, s, run.ID)
	if err != nil {
		return nil, err
	}
	name, stone, err := runFinder{s.refs}.collectedStone(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	b := newSeries(s, tip, run, parent)
	if !stone.IsZero() {
		b.stone = &refs.Update{Name: name, Old: stone}
	}
	return b, nil
}

func newSeries(s *Store, tip refs.Name, run snapshot.Run, parent *snapshot.Entry) *Series {
	return &Series{
		store: s, head: &Head{store: s, tip: tip}, run: &run, entry: parent,
		batch: s.objects.Begin(), most: seriesPack,
	}
}

// Append builds the next entry. The entry is in the run once Commit returns nil, and is readable until Close. Its
// time is the draft's, even 0: a series has no clock. A frame adds the event that announces it, unless the frame is
// silent. If Append returns an error, the series is unchanged.
func (b *Series) Append(ctx context.Context, draft snapshot.Draft) (*snapshot.Entry, error) {
	s := b.store
	if err := ctx.Err(); err != nil {
		return nil, Explain(err)
	}
	if err := b.makeRoom(ctx); err != nil {
		return nil, Explain(err)
	}
	if b.first() {
		edit := draft.Run
		draft.Run = func(row *snapshot.Run) {
			*row = *b.run
			if edit != nil {
				edit(row)
			}
		}
		if draft.Frame == nil && b.entry == nil {
			draft.Frame = new(snapshot.FrameDraft)
		}
	}
	draft.Limits = s.settings.Limits
	next, err := snapshot.Append(b.batch, s.frames, b.entry, draft)
	if err != nil {
		return nil, Explain(err)
	}
	if next.Frame != snapshot.NoFrame {
		b.made = append(b.made, refs.FrameRef{Frame: next.Frame, ID: next.ID})
	} else if b.first() {
		b.made = append(b.made, refs.FrameRef{ID: b.entry.ID})
	}
	b.entry = next
	return next, nil
}

// first reports whether the next entry is the first of a run.
func (b *Series) first() bool {
	return b.run != nil && (b.entry == nil || len(b.made) == 0)
}

// makeRoom writes a pack if the batch is full, and pins the objects that the series refers to, so that they are not
// collected.
func (b *Series) makeRoom(ctx context.Context) error {
	if len(b.keeps) == 0 {
		release, err := b.store.objects.Pin(ctx)
		if err != nil {
			return err
		}
		b.keeps = append(b.keeps, release)
	}
	if b.batch.Bytes() < b.most {
		return nil
	}
	release, err := b.batch.Flush(ctx)
	if err != nil {
		return err
	}
	b.keeps = append(b.keeps, release)
	return nil
}

// Entry returns the newest entry of the series. Before the first Append it is the entry that the series follows, or nil
// if there is no such entry.
func (b *Series) Entry() *snapshot.Entry { return b.entry }

// Commit moves the tip to the newest entry and makes the frame refs. If smithers.frameRefs does not allow all of
// them, Commit makes those of the newest frames. A series without entries changes nothing. If the tip has moved
// meanwhile, the error is a conflict and nothing is changed. After success, all entries are on stable storage, as far
// as the repository's core.fsync asks for it, and the series can continue.
func (b *Series) Commit(ctx context.Context) (*Head, error) {
	s, h, next := b.store, b.head, b.entry
	if next == nil || b.first() || next.ID == b.from {
		return h, nil
	}
	updates, err := b.updates()
	if err != nil {
		return nil, Explain(err)
	}
	note, err := b.note()
	if err != nil {
		s.warn(fmt.Errorf("note a series of run %q: %w", next.Run, err))
	}
	defer note.leave() //nolint:errcheck // the lock ends when the note is removed, or with the process
	went := !h.row.Status.Ended()
	if err := s.Commit(ctx, b.batch, updates); err != nil {
		if b.run != nil && fault.CodeOf(err) == fault.Conflict {
			return nil, runExists(next.Run)
		}
		// If ctx ended during the write, the refs may have moved all the same.
		if err := h.findAppended(context.WithoutCancel(ctx), next, err); err != nil {
			return nil, err
		}
	}
	b.letGo()
	h.settled = next.ID
	if err := h.adopt(next); err != nil {
		return nil, err
	}
	if b.makeFrameRefs(ctx) {
		if err := note.remove(); err != nil {
			s.warn(fmt.Errorf("forget a series of run %q: %w", next.Run, err))
		}
	}
	b.run, b.stone, b.from, b.made = nil, nil, next.ID, nil
	if went && h.row.Status.Ended() {
		s.upkeep.runEnded(h.row.ID)
	}
	return h, nil
}

// updates returns the ref updates that put the series into its run: those of the tip, the tombstone and the newest
// frame.
func (b *Series) updates() ([]refs.Update, error) {
	updates := []refs.Update{{Name: b.head.tip, Old: b.from, New: b.entry.ID}}
	if b.stone != nil {
		updates = append(updates, *b.stone)
	}
	if len(b.made) == 0 {
		return updates, nil
	}
	newest := b.made[len(b.made)-1]
	name, err := refs.Frame(b.entry.Run, newest.Frame)
	return append(updates, refs.Update{Name: name, New: newest.ID}), err
}

// note notes the first frame for which the series makes a frame ref. It returns nil if the series has no frames.
func (b *Series) note() (*seriesNote, error) {
	if len(b.made) == 0 {
		return nil, nil //nolint:nilnil // the series makes no frame refs
	}
	return seriesNotes{b.store.Private()}.begin(b.entry.Run, b.made[0].Frame)
}

// makeFrameRefs makes the frame refs of all but the newest frame, and reports whether it succeeded. An error is a
// warning, since the frames are also found without refs.
func (b *Series) makeFrameRefs(ctx context.Context) bool {
	if len(b.made) < 2 {
		return true
	}
	slices.Reverse(b.made)
	if _, err := b.store.FrameRefs().Make(ctx, &RunFrames{Row: b.head.row, Frames: b.made}); err != nil {
		b.store.warn(fmt.Errorf("make the frame refs of run %q: %w", b.head.row.ID, err))
		return false
	}
	return true
}

// Close drops the entries that were not committed. A second Close does nothing.
func (b *Series) Close() {
	b.letGo()
	b.batch = b.store.objects.Begin()
}

// letGo releases the pins on the objects that the series refers to, and on its packs. Once the tip has moved, the tip
// keeps them.
func (b *Series) letGo() {
	for _, release := range b.keeps {
		release()
	}
	b.keeps = nil
}
