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

// Frames reads the chain of a run from an entry down to its first, or to one, which is
// not in it then. With an error, other than that of the entry itself, it returns as much
// as there is.
func (s *Store) Frames(ctx context.Context, tip *snapshot.Entry, downTo objstore.ID) (*RunFrames, error) {
	row, err := tip.RunRow()
	if err != nil {
		return nil, err
	}
	f := &RunFrames{Row: row}
	for entry, err := range s.Chain(tip) {
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

// framesOf is Frames of the run that has the tip.
func (s *Store) framesOf(ctx context.Context, tip objstore.ID) (*RunFrames, error) {
	entry, err := snapshot.ReadEntry(s.objects, tip)
	if err != nil {
		return nil, err
	}
	run, err := s.Frames(ctx, entry, objstore.ID{})
	if err != nil {
		return nil, err
	}
	return run, nil
}

// dropFrameRefs drops the frame refs of a run, and returns how many it dropped. Those
// that are not what the chain says, or are no refs, stay: they are for verify to name.
// A run that has not ended keeps its newest frame's, which the next read would make again.
func (s *Store) dropFrameRefs(ctx context.Context, run *RunFrames) (int, error) {
	if err := s.dropSeriesNote(run.Row.ID); err != nil {
		return 0, err
	}
	list, err := s.refs.Frames(ctx, run.Row.ID)
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
	return s.applyWherePossible(ctx, updates, dropAtOnce)
}

// FrameRefRoom is how many more frame refs smithers.frameRefs allows.
func (s *Store) FrameRefRoom(ctx context.Context) (int64, error) {
	counts, err := s.refs.FrameCounts(ctx)
	if err != nil {
		return 0, err
	}
	room := s.settings.FrameRefs
	for _, count := range counts {
		room -= int64(count)
	}
	return max(room, 0), nil
}

// MakeFrameRefs makes those of a run's frame refs that it lacks, the newest first, while
// smithers.frameRefs allows, and returns how many it made.
func (s *Store) MakeFrameRefs(ctx context.Context, run *RunFrames) (int, error) {
	room, err := s.FrameRefRoom(ctx)
	if err != nil {
		return 0, err
	}
	return s.makeFrameRefs(ctx, run, room)
}

// makeFrameRefs makes the newest of the frame refs that a run lacks, at most so many, and
// returns how many it made.
func (s *Store) makeFrameRefs(ctx context.Context, run *RunFrames, most int64) (int, error) {
	list, err := s.refs.Frames(ctx, run.Row.ID)
	broken, err := BrokenRefs(err)
	if err != nil {
		return 0, err
	}
	there := make(map[refs.Name]bool)
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
	return s.applyWherePossible(ctx, updates, makeAtOnce)
}

// applyWherePossible moves frame refs, so many at once, but for those that somebody else
// has moved meanwhile. It returns how many it moved.
func (s *Store) applyWherePossible(ctx context.Context, updates []refs.Update, atOnce int) (moved int, err error) {
	for chunk := range slices.Chunk(updates, atOnce) {
		for len(chunk) > 0 {
			err := s.refs.Apply(ctx, chunk...)
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
		if err := s.refs.PackIfMany(ctx); err != nil {
			return moved, err
		}
	}
	return moved, nil
}
