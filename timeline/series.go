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

// seriesPack is how many bytes of objects a series holds in memory before it writes them.
const seriesPack = 32 << 20

// Series is entries that are appended to a run together: its refs move when the last of them is on
// stable storage, so nobody ever sees some of them. For one goroutine at a time.
type Series struct {
	store *Store
	head  *Head           // what is told of the new tip
	from  objstore.ID     // the tip that the series follows; zero before a run's first entry
	run   *snapshot.Run   // the row of a run that is to be made; nil for one that is there
	entry *snapshot.Entry // the newest
	stone *refs.Update    // takes away the tombstone of a run that is made again; nil for none
	made  []refs.FrameRef // the frames of the series, oldest first
	batch *objstore.Batch // what is not in a pack yet
	most  int64           // bytes that batch may hold
	keeps []func()        // lets go of what the series stands on, and of the packs
}

// SeriesOf begins a series that follows the tip that head knows. Commit brings head up to date.
func SeriesOf(head *Head) *Series {
	s := head.store
	return &Series{store: s, head: head, from: head.entry.ID, entry: head.entry, batch: s.objects.Begin(), most: seriesPack}
}

// NewSeries begins a run: its row is run, and its first entry is a frame, or follows parent, the frame that it
// is forked from as row.Parent says, where that is not nil. Codes: run_exists, run_pruned, invalid_run_id.
func NewSeries(ctx context.Context, s *Store, run snapshot.Run, parent *snapshot.Entry) (*Series, error) {
	tip, err := freeTip(ctx, s, run.ID)
	if err != nil {
		return nil, err
	}
	return newSeries(s, tip, run, parent), nil
}

// ReviveSeries is NewSeries also for the id of a run that was pruned and collected: its tombstone goes when
// the series is committed. One that is still held is run_pruned, since it can be brought back as it was.
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

// Append builds the next entry. It is not in the run yet, but can be read until Close. Its time is the
// draft's, 0 too: a series has no clock. A frame announces itself unless it is silent. Where
// a draft cannot be appended, the series is as it was.
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

// makeRoom writes what does not fit into memory any more, and keeps what the series refers to
// from being collected.
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

// Entry is the newest entry of the series, or what it follows; nil before a run's first.
func (b *Series) Entry() *snapshot.Entry { return b.entry }

// Commit moves the tip to the newest entry and makes the frame refs, the newest first, as far as
// smithers.frameRefs allows. A tip that has moved meanwhile is a conflict, and nothing is changed.
// A series without entries moves nothing. Where it returns nil, all entries are on stable storage,
// as far as the repository's core.fsync asks for it, and the series can go on.
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
	defer note.leave() //nolint:errcheck // it is locked no more when it is removed, or the process ends
	went := !h.row.Status.Ended()
	if err := s.Commit(ctx, b.batch, updates); err != nil {
		if b.run != nil && fault.CodeOf(err) == fault.Conflict {
			return nil, runExists(next.Run)
		}
		// Whether the refs moved is to be known also when ctx is why that is unclear.
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

// updates are the moves of refs that put the series into its run: the tip, the newest frame's, and a tombstone's.
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

// note writes down from which frame on the series makes frame refs, if it makes any.
func (b *Series) note() (*seriesNote, error) {
	if len(b.made) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to leave out
	}
	return seriesNotes{b.store.Private()}.begin(b.entry.Run, b.made[0].Frame)
}

// makeFrameRefs makes those that Commit has left, and reports whether it has. The frames are found without them, so
// it is no failure where they cannot be made: a warning.
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

// Close lets go of what was not committed. Closing twice does nothing.
func (b *Series) Close() {
	b.letGo()
	b.batch = b.store.objects.Begin()
}

// letGo lets go of what the series stands on, and of its packs, which the tip keeps once it has moved.
func (b *Series) letGo() {
	for _, release := range b.keeps {
		release()
	}
	b.keeps = nil
}
