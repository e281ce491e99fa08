package timeline

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// dropAtOnce and makeAtOnce are the largest numbers of frame refs that one transaction drops and makes. A drop
// rewrites packed-refs only once, but each new ref is a file.
const (
	dropAtOnce = 1000
	makeAtOnce = 200
)

// RunFrames lists the entries and frames of a run's chain.
type RunFrames struct {
	Row     snapshot.Run    // the run's row at the tip
	Commits []objstore.ID   // the ids of the entries, newest first
	Frames  []refs.FrameRef // newest first; if a fork changed nothing, its frame 0 is the parent's frame
}

// Frames reads the chain of a run from the entry tip down to the entry with the id downTo, which it leaves out. If
// downTo is zero, Frames reads the whole chain. If an entry below tip is unreadable or ctx ends, Frames returns
// the part that was read, and an error.
func (s *Store) Frames(ctx context.Context, tip *snapshot.Entry, downTo objstore.ID) (*RunFrames, error) {
	return readFrames(ctx, s.objects, tip, downTo)
}

// readFrames reads the chain of a run from tip down to the entry with the id downTo, which it leaves out; see
// [Store.Frames]. It reads the objects from r. If the run is a fork and its chain has no frame 0, the result has
// the parent's frame as frame 0. If the row of tip is unreadable, readFrames returns nil and the error.
func readFrames(ctx context.Context, r objstore.Reader, tip *snapshot.Entry, downTo objstore.ID) (*RunFrames, error) {
	row, err := tip.RunRow()
	if err != nil {
		return nil, err
	}
	f := &RunFrames{Row: row}
	for entry, err := range snapshot.Chain(r, tip) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return f, err
		}
		if entry.ID == downTo {
			return f, nil
		}
		f.Commits = append(f.Commits, entry.ID)
		if entry.Frame != snapshot.NoFrame {
			f.Frames = append(f.Frames, refs.FrameRef{Frame: entry.Frame, ID: entry.ID})
		}
	}
	// A fork that changed nothing has no entry of its own for frame 0: its frame 0 is the parent's frame.
	first := len(f.Frames) - 1
	if row.Parent != nil && row.Parent.Commit != downTo && (first < 0 || f.Frames[first].Frame != 0) {
		f.Frames = append(f.Frames, refs.FrameRef{ID: row.Parent.Commit})
	}
	return f, nil
}

// At returns the commit of a frame, or the zero id if f has no such frame.
func (f *RunFrames) At(frame int64) objstore.ID {
	// The newest frame comes first, so the operands of Compare are in reverse order.
	at, ok := slices.BinarySearchFunc(f.Frames, frame, func(ref refs.FrameRef, frame int64) int { return cmp.Compare(frame, ref.Frame) })
	if !ok {
		return objstore.ID{}
	}
	return f.Frames[at].ID
}

// framesOf reads the whole chain of the run whose tip has the id tip. If an entry is unreadable, framesOf returns
// nil and an error.
func framesOf(ctx context.Context, r objstore.Reader, tip objstore.ID) (*RunFrames, error) {
	entry, err := snapshot.ReadEntry(r, tip)
	if err != nil {
		return nil, err
	}
	run, err := readFrames(ctx, r, entry, objstore.ID{})
	if err != nil {
		return nil, err
	}
	return run, nil
}

// FrameRefs makes, repairs and drops the frame refs of a store's runs. Frame refs can be made again from the runs'
// chains at any time. The setting smithers.frameRefs limits their number.
type FrameRefs struct {
	refs    *refs.DB
	objects *objstore.Store
	notes   seriesNotes // the notes of series that are being committed
	most    int64       // see Settings.FrameRefs
	warn    func(error)
}

// FrameRefs returns the FrameRefs for the store's runs.
func (s *Store) FrameRefs() FrameRefs {
	return FrameRefs{s.refs, s.objects, seriesNotes{s.Private()}, s.settings.FrameRefs, s.warn}
}

// DropOlderRefs removes the frame refs of a run except that of its newest frame, as [FrameRefs.DropOlder] does, also those that are
// to be made later. tip is the entry at the run's tip.
func (s *Store) DropOlderRefs(ctx context.Context, tip *snapshot.Entry) error {
	return Explain(errors.Join(s.later.forget(tip.Run), s.FrameRefs().DropOlder(ctx, tip, 1)))
}

// drop removes the frame refs of a run and returns the number of removed refs. It keeps broken refs, and refs that
// disagree with the chain, so that verify reports them. If the run has not ended, drop keeps the newest frame's
// ref, because the next read would make this ref again. drop also removes the note that a killed process left for
// repairSeries, so that no process makes the refs again.
func (f FrameRefs) drop(ctx context.Context, run *RunFrames) (int, error) {
	if err := f.notes.drop(run.Row.ID); err != nil {
		return 0, err
	}
	list, err := f.refs.Frames(ctx, run.Row.ID)
	if _, err = BrokenRefs(err); err != nil {
		return 0, err
	}
	var updates []refs.Update
	for _, ref := range list {
		if run.At(ref.Frame) != ref.ID || ref.Frame == run.Row.Frame && !run.Row.Status.Ended() {
			continue
		}
		name, err := refs.Frame(run.Row.ID, ref.Frame)
		if err != nil {
			return 0, err
		}
		updates = append(updates, refs.Update{Name: name, Old: ref.ID})
	}
	return f.move(ctx, updates, dropAtOnce)
}

// DropOlder removes the frame refs of a run except that of its newest frame, if there are more than most. tip is the entry at the
// run's tip. DropOlder reads the chain down to the oldest frame with a ref. The frames stay addressable through the chain.
func (f FrameRefs) DropOlder(ctx context.Context, tip *snapshot.Entry, most int) error {
	list, err := f.refs.Frames(ctx, tip.Run)
	if _, err = BrokenRefs(err); err != nil || len(list) <= most {
		return err
	}
	row, err := tip.RunRow()
	if err != nil {
		return Explain(err)
	}
	run := &RunFrames{Row: row}
	for entry, err := range snapshot.Chain(f.objects, tip) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return Explain(err)
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		run.Frames = append(run.Frames, refs.FrameRef{Frame: entry.Frame, ID: entry.ID})
		if entry.Frame <= list[0].Frame {
			break
		}
	}
	if last := len(run.Frames) - 1; row.Parent != nil && (last < 0 || run.Frames[last].Frame != 0) { // frame 0 of a fork is a commit of its parent
		run.Frames = append(run.Frames, refs.FrameRef{ID: row.Parent.Commit})
	}
	_, err = f.drop(ctx, run)
	return err
}

// Room returns the number of frame refs that smithers.frameRefs still allows. The result is not negative.
func (f FrameRefs) Room(ctx context.Context) (int64, error) {
	counts, err := f.refs.FrameCounts(ctx)
	if err != nil {
		return 0, err
	}
	room := f.most
	for _, count := range counts {
		room -= int64(count)
	}
	return max(room, 0), nil
}

// Make makes the missing frame refs of a run and returns the number of new refs. If smithers.frameRefs does not
// allow all refs, Make makes the refs of the newest frames only. It does not replace broken refs.
func (f FrameRefs) Make(ctx context.Context, run *RunFrames) (int, error) {
	room, err := f.Room(ctx)
	if err != nil {
		return 0, err
	}
	return f.make(ctx, run, room)
}

// make makes at most limit missing frame refs of a run and returns the number of new refs. If more refs are missing,
// make chooses the refs of the newest frames. It makes the chosen refs oldest first. make ignores smithers.frameRefs,
// and does not replace broken refs.
func (f FrameRefs) make(ctx context.Context, run *RunFrames, limit int64) (int, error) {
	list, err := f.refs.Frames(ctx, run.Row.ID)
	broken, err := BrokenRefs(err)
	if err != nil {
		return 0, err
	}
	there := map[refs.Name]bool{}
	for _, b := range broken {
		there[b.Name] = true
	}
	for _, ref := range list {
		name, err := refs.Frame(run.Row.ID, ref.Frame)
		if err != nil {
			return 0, err
		}
		there[name] = true
	}
	var updates []refs.Update
	for _, ref := range run.Frames {
		name, err := refs.Frame(run.Row.ID, ref.Frame)
		if err != nil {
			return 0, err
		}
		if !there[name] && int64(len(updates)) < limit {
			updates = append(updates, refs.Update{Name: name, New: ref.ID})
		}
	}
	slices.Reverse(updates)
	return f.move(ctx, updates, makeAtOnce)
}

// move applies updates of frame refs in transactions of at most atOnce updates, and returns the number of
// applied updates. It leaves out broken refs, and refs that another process has moved meanwhile. After each
// transaction, move packs the refs if the repository has many loose refs.
func (f FrameRefs) move(ctx context.Context, updates []refs.Update, atOnce int) (moved int, err error) {
	for chunk := range slices.Chunk(updates, atOnce) {
		for len(chunk) > 0 {
			err := f.refs.Apply(ctx, chunk...)
			if err == nil {
				moved += len(chunk)
				break
			}
			var elsewhere refs.Name
			if conflict, ok := errors.AsType[*refs.ConflictError](err); ok {
				elsewhere = conflict.Name
			} else if broken, ok := errors.AsType[*refs.BrokenError](err); ok {
				elsewhere = broken.Name
			} else {
				return moved, err
			}
			// Apply made none of the updates: try again without the ref at fault.
			chunk = slices.DeleteFunc(slices.Clone(chunk), func(u refs.Update) bool { return u.Name == elsewhere })
		}
		if err := f.refs.PackIfMany(ctx); err != nil {
			return moved, err
		}
	}
	return moved, nil
}
