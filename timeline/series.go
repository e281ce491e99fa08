package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// seriesPack is the number of bytes of objects that a series holds in memory before it writes a pack.
const seriesPack = 32 << 20

// Series appends entries to a run together. The run's refs move after all entries are on stable storage, so
// readers see either all of the entries or no entry. Only one goroutine at a time may use a Series.
type Series struct {
	store *Store
	head  *Head           // the run's head, which Commit moves to the new tip
	from  objstore.ID     // the tip that the series follows; zero before a run's first entry
	run   *snapshot.Run   // the row of a new run; nil once the run exists
	entry *snapshot.Entry // the newest entry; nil before the first entry of a run that is not a fork
	stone *refs.Update    // removes the tombstone of a revived run; nil for any other run
	made  []refs.FrameRef // the frames since the last Commit, oldest first; includes a fork's frame 0
	batch *objstore.Batch // the objects that are not in a pack yet
	most  int64           // the number of bytes at which the batch is written to a pack
	holds *refs.Update    // holds the history that the series replaces; nil for any other run
	onto  bool            // the series continues a history of the run that head does not have
	open  bool            // the run is not sealed when it ends
	later int             // the number of frames but the newest whose refs are made when the process is idle; 0: the refs of all are made at once
	lines []byte          // notes that this clone has recorded the entries since the last Commit
	keeps []func()        // release the pins on the objects that the series refers to, and on its packs
}

// SeriesOf returns a series that continues the run of head after the tip that head knows. [Series.Commit] moves
// head to the new tip.
func SeriesOf(head *Head) *Series {
	s := head.store
	return &Series{store: s, head: head, from: head.entry.ID, entry: head.entry, batch: s.objects.Begin(), most: seriesPack}
}

// NewSeries returns a series that begins a new run with the given row. parent is the frame that run.Parent names,
// or nil if the run is not a fork. Without a parent, the first entry is a frame. The run exists once
// [Series.Commit] has returned nil. The id is another program's, so it may be [Mistakable]: Smithers calls runs all:child:0. Codes:
// run_exists, run_pruned, invalid_run_id.
func NewSeries(ctx context.Context, s *Store, run snapshot.Run, parent *snapshot.Entry) (*Series, error) {
	tip, err := absentTip(ctx, s, run.ID, anyID)
	if err == nil {
		err = RefusePruned(ctx, s, run.ID)
	}
	if err != nil {
		return nil, err
	}
	return newSeries(s, tip, run, parent), nil
}

// ReviveSeries returns a series as NewSeries does, but accepts the id of a run that was pruned and whose history
// was collected. Commit then also removes the run's tombstone. Codes: run_exists; invalid_run_id; run_pruned if
// the history of the pruned run is still held, since `prune --undo` can bring the run back.
func ReviveSeries(ctx context.Context, s *Store, run snapshot.Run, parent *snapshot.Entry) (*Series, error) {
	tip, err := absentTip(ctx, s, run.ID, anyID)
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

// SeriesAgain returns a series as NewSeries does, for a run that is not a fork, but accepts the id of a pruned run also
// if its history is still held. Commit then removes the run's tombstone; the held history stays until `prune --collect`.
// The id may begin with a dash: it is another program's, and commands take it after "--". Codes: run_exists; invalid_run_id.
func SeriesAgain(ctx context.Context, s *Store, run snapshot.Run) (*Series, error) {
	tip, err := absentTip(ctx, s, run.ID, anyID)
	if err != nil {
		return nil, err
	}
	b := newSeries(s, tip, run, nil)
	name, err := refs.Gone(run.ID)
	if err != nil {
		return nil, Explain(err)
	}
	switch stone, err := s.refs.Resolve(ctx, name); {
	case err == nil:
		b.stone = &refs.Update{Name: name, Old: stone}
	case !errors.Is(err, refs.ErrNotFound):
		return nil, Explain(err)
	}
	return b, nil
}

// ReplaceSeries returns a series that begins the run of head anew: the first entry gets the row, and follows parent, the frame that run.Parent names, or nil. Commit
// moves the tip from the entry that head knows to the new chain, and holds the old chain until `prune --collect`, in place
// of a history that was held under this id before.
func ReplaceSeries(ctx context.Context, head *Head, run snapshot.Run, parent *snapshot.Entry) (*Series, error) {
	s := head.store
	old, err := framesOf(ctx, s.objects, head.entry.ID)
	if err != nil {
		return nil, Explain(err)
	}
	old.Row.Status = snapshot.RunFinished // the newest frame's ref goes, too: another frame gets its number
	if _, err := s.FrameRefs().drop(ctx, old); err != nil {
		return nil, Explain(err)
	}
	b := newSeries(s, head.tip, run, parent)
	b.from = head.entry.ID
	name, err := refs.Held(run.ID)
	if err != nil {
		return nil, Explain(err)
	}
	held, err := s.refs.Resolve(ctx, name)
	if err != nil && !errors.Is(err, refs.ErrNotFound) {
		return nil, Explain(err)
	}
	if held != b.from {
		b.holds = &refs.Update{Name: name, Old: held, New: b.from}
	}
	return b, nil
}

// SeriesOnto returns a series that continues another history of the run of head: the entries after onto, which must be one of the
// same run. Commit moves the tip from the entry that head knows to the new entries, and makes the frame refs of the whole
// new history. SeriesOnto drops the frame refs of the old one at once: frames are also found without refs.
func SeriesOnto(ctx context.Context, head *Head, onto *snapshot.Entry) (*Series, error) {
	s := head.store
	old, err := framesOf(ctx, s.objects, head.entry.ID)
	if err != nil {
		return nil, Explain(err)
	}
	if _, err := s.FrameRefs().drop(ctx, old); err != nil {
		return nil, Explain(err)
	}
	return &Series{store: s, head: head, from: head.entry.ID, entry: onto, batch: s.objects.Begin(), most: seriesPack, onto: true}, nil
}

// StayOpen makes Commit leave the run's packs and refs as they are when the run ends, because the run is expected to go
// on: a run that goes on after each end would be packed anew each time.
func (b *Series) StayOpen() { b.open = true }

// RefsLater makes Commit leave the refs of all frames but the newest to a time when the process is idle, or to Store.Close. They
// take longer than the rest of a commit. Only the newest frames get refs, at most most of them.
func (b *Series) RefsLater(most int) { b.later = most }

// newSeries returns a series that begins a new run with the given row. tip is the name of the run's tip; the
// caller has checked the id. parent is the frame that run.Parent names, or nil.
func newSeries(s *Store, tip refs.Name, run snapshot.Run, parent *snapshot.Entry) *Series {
	return &Series{
		store: s, head: &Head{store: s, tip: tip}, run: &run, entry: parent,
		batch: s.objects.Begin(), most: seriesPack,
	}
}

// Append builds the next entry of the series and returns the entry. The run has the entry once Commit has returned
// nil. The caller may read the entry until Close. The entry's time is draft.AtMs, even if draft.AtMs is 0: a
// series has no clock. Limits of the draft replace the limits of the settings. Secrets stay in the texts, unless draft.Redactor is set, because
// an imported text must come back unchanged. The run's row marks the secrets.
// The first entry of a new run gets the series' row, which draft.Run may then edit. If the new run has no parent,
// its first entry is a frame even if draft.Frame is nil. A frame adds the event that announces the frame, unless
// the frame is silent. If Append returns an error, the series has no new entry.
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
	if draft.Limits == (snapshot.Limits{}) {
		draft.Limits = s.settings.Limits
	}
	draft.Marker = s.vault
	next, err := snapshot.Append(b.batch, s.frames, b.entry, draft)
	if err != nil {
		return nil, Explain(err)
	}
	line, err := b.recorded(next)
	if err != nil {
		return nil, err
	}
	b.lines = append(b.lines, line...)
	// A fork whose first entry is not a frame has the parent's frame as frame 0.
	if next.Frame != snapshot.NoFrame {
		b.made = append(b.made, refs.FrameRef{Frame: next.Frame, ID: next.ID})
	} else if b.first() {
		b.made = append(b.made, refs.FrameRef{ID: b.entry.ID})
	}
	b.entry = next
	return next, nil
}

// recorded returns the line that notes that this clone has recorded next, the entry after b.entry.
func (b *Series) recorded(next *snapshot.Entry) ([]byte, error) {
	switch {
	case b.entry == nil:
		return follows(objstore.ID{}, next.ID), nil
	case b.first():
		return b.store.inherited(next.ID, b.entry)
	}
	return follows(b.entry.ID, next.ID), nil
}

// first reports whether the next entry is the first entry of a new run.
func (b *Series) first() bool {
	// Append adds a frame ref to b.made for the first entry of a new run.
	return b.run != nil && (b.entry == nil || len(b.made) == 0)
}

// makeRoom prepares the series for the next entry. If the series holds no pin, makeRoom pins the objects that the
// series refers to, so that they are not collected. If the batch holds at least b.most bytes, makeRoom writes the
// batch as a pack, and keeps this pack until letGo.
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

// Entry returns the newest entry of the series. Before the first Append, Entry returns the entry that the series
// follows, or nil if the series begins a run that is not a fork.
func (b *Series) Entry() *snapshot.Entry { return b.entry }

// Commit moves the run's tip to the newest entry, makes the frame refs, and returns the run's head. If
// smithers.frameRefs does not allow all frame refs, Commit makes the refs of the newest frames. If the series has
// no new entries, Commit changes nothing. If the tip has moved meanwhile, Commit changes nothing and returns
// conflict, or run_exists for a new run.
//
// When Commit returns nil, all entries are on stable storage, unless Settings.Fsync is false, and the series can
// continue. A failure to make the refs of earlier frames is a warning. If the write reports an error although the
// tip has moved, Commit warns and returns nil.
func (b *Series) Commit(ctx context.Context) (*Head, error) {
	s, h, next := b.store, b.head, b.entry
	if next == nil || b.first() || next.ID == b.from {
		return h, nil
	}
	updates, err := b.updates()
	if err != nil {
		return nil, Explain(err)
	}
	row, err := next.RunRow()
	if err != nil {
		return nil, Explain(err)
	}
	s.record(row, b.lines)
	b.lines = nil
	// went is true if the run is new or had not ended before this Commit.
	went := !h.row.Status.Ended()
	note, err := b.note()
	if err != nil {
		s.warn(fmt.Errorf("cannot record that frame refs of run %q are being made: %w", next.Run, err))
	}
	defer note.leave() //nolint:errcheck // the lock ends when the note is removed, or with the process
	if err := s.Commit(ctx, b.batch, updates); err != nil {
		if b.run != nil && fault.CodeOf(err) == fault.Conflict {
			return nil, runExists(next.Run)
		}
		// If ctx ended during the write, the refs may have moved nevertheless.
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
			s.warn(fmt.Errorf("cannot remove the record that frame refs of run %q are being made: %w", next.Run, err))
		}
	}
	if b.onto {
		b.makeAllFrameRefs(ctx)
	}
	b.run, b.stone, b.holds, b.onto, b.from, b.made = nil, nil, nil, false, next.ID, nil
	if went && !b.open && h.row.Status.Ended() {
		s.upkeep.runEnded(h.row.ID)
	}
	return h, nil
}

// updates returns the ref updates that put the series into its run. The update of the tip is first. Then come the
// removal of the tombstone if the run is revived, and the update of the newest frame's ref if the series has
// frames.
func (b *Series) updates() ([]refs.Update, error) {
	updates := []refs.Update{{Name: b.head.tip, Old: b.from, New: b.entry.ID}}
	if b.stone != nil {
		updates = append(updates, *b.stone)
	}
	if b.holds != nil { // the history must be held before the tip leaves it
		updates = slices.Insert(updates, 0, *b.holds)
	}
	if len(b.made) == 0 {
		return updates, nil
	}
	newest := b.made[len(b.made)-1]
	name, err := refs.Frame(b.entry.Run, newest.Frame)
	return append(updates, refs.Update{Name: name, New: newest.ID}), err
}

// note writes and locks a note with the number of the first frame of the series. If this process is killed before
// it has made the frame refs, the next process finds the note and makes the refs. note returns nil if the series
// has at most one frame, whose ref is made with the tip, or if another series of the run holds the note.
func (b *Series) note() (*seriesNote, error) {
	if len(b.made) < 2 || b.later > 0 {
		return nil, nil //nolint:nilnil // no other frame needs a ref now
	}
	return seriesNotes{b.store.Private()}.begin(b.entry.Run, b.made[0].Frame)
}

// makeFrameRefs makes the frame refs of all frames except the newest, whose ref Commit makes together with the
// tip. It returns false after an error. The error is a warning, since frames are also found without refs.
// makeFrameRefs reverses b.made, because RunFrames has the newest frame first.
func (b *Series) makeFrameRefs(ctx context.Context) bool {
	if len(b.made) < 2 {
		return true
	}
	if b.later > 0 {
		b.store.later.add(b.entry.Run, b.made[:len(b.made)-1], b.later)
		return true
	}
	slices.Reverse(b.made)
	if _, err := b.store.FrameRefs().Make(ctx, &RunFrames{Row: b.head.row, Frames: b.made}); err != nil {
		b.store.warn(fmt.Errorf("the frame refs of run %q were not created: %w", b.head.row.ID, err))
		return false
	}
	return true
}

// makeAllFrameRefs makes the missing frame refs of the run's whole history. An error is a warning.
func (b *Series) makeAllFrameRefs(ctx context.Context) {
	all, err := framesOf(ctx, b.store.objects, b.entry.ID)
	if err == nil {
		_, err = b.store.FrameRefs().Make(ctx, all)
	}
	if err != nil {
		b.store.warn(fmt.Errorf("the frame refs of run %q were not created: %w", b.head.row.ID, err))
	}
}

// Close drops the entries that were not committed, and releases all pins. A second Close does nothing.
func (b *Series) Close() {
	b.letGo()
	b.batch = b.store.objects.Begin()
}

// letGo releases the pins on the objects that the series refers to, and on the series' packs. After Commit, the
// tip keeps these objects from being collected.
func (b *Series) letGo() {
	for _, release := range b.keeps {
		release()
	}
	b.keeps = nil
}
