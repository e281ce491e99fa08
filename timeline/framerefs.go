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

// The most frame refs that one transaction drops, and makes. What is dropped is written
// as one new packed-refs; what is made is a file each.
const (
	dropAtOnce = 1000
	makeAtOnce = 200
)

// RunFrames is what the chain of a run says about its frames.
type RunFrames struct {
	Row     snapshot.Run    // at the tip
	Commits []objstore.ID   // of the entries, newest first
	Frames  []refs.FrameRef // newest first; frame 0 of a fork that changed nothing is its parent's
}

// Frames reads the chain of a run from an entry down to its first entry, or down to an entry that is then left
// out. With an error, other than that of the entry itself, it returns what it has read.
func (s *Store) Frames(ctx context.Context, tip *snapshot.Entry, downTo objstore.ID) (*RunFrames, error) {
	return readFrames(ctx, s.objects, tip, downTo)
}

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
	first := len(f.Frames) - 1
	if row.Parent != nil && row.Parent.Commit != downTo && (first < 0 || f.Frames[first].Frame != 0) {
		f.Frames = append(f.Frames, refs.FrameRef{ID: row.Parent.Commit})
	}
	return f, nil
}

// At is the entry of a frame; zero where there is none.
func (f *RunFrames) At(frame int64) objstore.ID {
	at, ok := slices.BinarySearchFunc(f.Frames, frame, func(ref refs.FrameRef, frame int64) int { return cmp.Compare(frame, ref.Frame) })
	if !ok {
		return objstore.ID{}
	}
	return f.Frames[at].ID
}

// framesOf reads the chain of the run that has the tip.
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

// FrameRefs are the frame refs of a store's runs: a projection of their chains, of a bounded number.
type FrameRefs struct {
	refs    *refs.DB
	objects *objstore.Store
	notes   seriesNotes
	most    int64 // see Settings.FrameRefs
	warn    func(error)
}

// FrameRefs returns the frame refs of the store's runs.
func (s *Store) FrameRefs() FrameRefs {
	return FrameRefs{s.refs, s.objects, seriesNotes{s.Private()}, s.settings.FrameRefs, s.warn}
}

// drop drops the frame refs of a run, and returns how many it dropped. Those
// that are not what the chain says, or are no refs, stay: they are for verify to name.
// A run that has not ended keeps its newest frame's, which the next read would make again.
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

// Room returns how many more frame refs smithers.frameRefs allows.
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

// Make makes those of a run's frame refs that it lacks, the newest first, while
// smithers.frameRefs allows, and returns how many it made.
func (f FrameRefs) Make(ctx context.Context, run *RunFrames) (int, error) {
	room, err := f.Room(ctx)
	if err != nil {
		return 0, err
	}
	return f.make(ctx, run, room)
}

// make makes the newest of the frame refs that a run lacks, at most so many, and
// returns how many it made.
func (f FrameRefs) make(ctx context.Context, run *RunFrames, most int64) (int, error) {
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
		if !there[name] && int64(len(updates)) < most {
			updates = append(updates, refs.Update{Name: name, New: ref.ID})
		}
	}
	slices.Reverse(updates)
	return f.move(ctx, updates, makeAtOnce)
}

// move moves frame refs, so many at once, but for those that somebody else
// has moved meanwhile. It returns how many it moved.
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
			chunk = slices.DeleteFunc(slices.Clone(chunk), func(u refs.Update) bool { return u.Name == elsewhere })
		}
		if err := f.refs.PackIfMany(ctx); err != nil {
			return moved, err
		}
	}
	return moved, nil
}
