package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// repair makes the frame refs that are missing after a crash: the newest frame's ref, and the refs of frames that
// a killed process appended together. row is the run's row, and tip is the entry at the run's tip. repair warns if
// repairSeries fails. It returns the error of RepairNewest.
func (f FrameRefs) repair(ctx context.Context, row snapshot.Run, tip *snapshot.Entry) error {
	if err := f.repairSeries(ctx, row.ID, tip); err != nil {
		f.warn(fmt.Errorf("the frame refs of run %q were not recreated: %w", row.ID, err))
	}
	return f.RepairNewest(ctx, row, tip)
}

// RepairNewest makes the newest frame's ref if the ref is missing or broken. A process may have crashed between
// the move of the tip and the creation of the ref. If the run has ended and the ref of the frame before is
// missing, too, the refs were dropped on purpose. RepairNewest then does not make a missing ref. A failure to
// write the ref is a warning, since frames are also found through the chain.
//
// row is the run's row, and tip is the entry at the run's tip. Earlier frames need no repair, because every append
// starts from a tip that was repaired.
func (f FrameRefs) RepairNewest(ctx context.Context, row snapshot.Run, tip *snapshot.Entry) error {
	name, err := refs.Frame(row.ID, row.Frame)
	if err != nil {
		return Explain(err)
	}
	_, err = f.refs.Resolve(ctx, name)
	if err == nil {
		return nil
	}
	if !errors.Is(err, refs.ErrNotFound) && !errors.Is(err, refs.ErrBroken) {
		return Explain(err)
	}
	if errors.Is(err, refs.ErrNotFound) && row.Status.Ended() && !f.has(ctx, row.ID, row.Frame-1) {
		return nil
	}
	frame, findErr := frameInChain(f.objects, row, tip, row.Frame)
	if findErr != nil {
		return findErr
	}
	if repairErr := f.restore(ctx, row.ID, name, frame.ID, err); repairErr != nil {
		f.warn(fmt.Errorf("the frame ref %s was not repaired: %w", name, repairErr))
	}
	return nil
}

// has reports whether a frame of a run has a readable ref.
func (f FrameRefs) has(ctx context.Context, run string, frame int64) bool {
	name, err := refs.Frame(run, frame)
	if err == nil {
		_, err = f.refs.Resolve(ctx, name)
	}
	return err == nil
}

// restore gives the ref name the value id: it creates a missing ref, or replaces a broken ref. resolveErr is the error
// that Resolve returned for the ref. restore first puts the tip of the run on stable storage. If another process
// has created the same ref meanwhile, restore returns nil.
func (f FrameRefs) restore(ctx context.Context, run string, name refs.Name, id objstore.ID, resolveErr error) error {
	// The process that moved the tip may have died before the tip was on stable storage. A power cut that takes the tip
	// back must not leave the frame's ref.
	tip, err := refs.Tip(run)
	if err != nil {
		return err
	}
	if err := f.refs.Settle(ctx, tip); err != nil {
		return err
	}
	if errors.Is(resolveErr, refs.ErrBroken) {
		if err := f.refs.RemoveBroken(ctx, name); err != nil {
			return err
		}
	}
	err = f.refs.Apply(ctx, refs.Update{Name: name, New: id})
	var conflict *refs.ConflictError
	if errors.As(err, &conflict) && conflict.Actual == id {
		return nil
	}
	return err
}

// repairSeries makes the frame refs of a series, a group of frames that one process appends together. The process
// leaves a note with the number of the first frame, and may be killed before it makes the refs. tip is the entry
// at the run's tip. repairSeries makes the missing refs from that frame on, as far as smithers.frameRefs allows,
// and removes the note. If there is no note, it does nothing. If it fails, the note stays for the next process.
func (f FrameRefs) repairSeries(ctx context.Context, run string, tip *snapshot.Entry) error {
	note, err := f.notes.take(run)
	if err != nil || note == nil {
		return err
	}
	first, ok := readSeriesNote(note.path)
	if !ok {
		return note.remove() // the process was killed before it moved the tip
	}
	frames, err := readFrames(ctx, f.objects, tip, objstore.ID{})
	if err == nil {
		frames.Frames = slices.DeleteFunc(frames.Frames, func(ref refs.FrameRef) bool { return ref.Frame < first })
		_, err = f.Make(ctx, frames)
	}
	if err != nil {
		return errors.Join(err, note.leave())
	}
	return note.remove()
}

// Lacking returns the frames of a run whose refs should exist and are missing, oldest first. list has the existing
// refs, sorted by frame. chain maps the numbers of the run's frames to their commits. A frame between the oldest
// and the newest frame in list should have a ref. If a process was killed while it appended a series of frames,
// all frames from the start of the series on should have refs, too. Lacking makes no refs.
func (f FrameRefs) Lacking(run string, list []refs.FrameRef, chain map[int64]objstore.ID) ([]refs.FrameRef, error) {
	first, last := int64(refs.MaxFrame), int64(0)
	if len(list) > 0 {
		first, last = list[0].Frame, list[len(list)-1].Frame
	}
	note, err := f.notes.take(run)
	if err != nil {
		return nil, Explain(err)
	}
	if note != nil {
		if noted, ok := readSeriesNote(note.path); ok {
			first, last = min(first, noted), refs.MaxFrame
		}
		if err := note.leave(); err != nil {
			return nil, Explain(err)
		}
	}
	there := make(map[int64]bool, len(list))
	for _, ref := range list {
		there[ref.Frame] = true
	}
	var lacking []refs.FrameRef
	for frame, id := range chain {
		if frame >= first && frame <= last && !there[frame] {
			lacking = append(lacking, refs.FrameRef{Frame: frame, ID: id})
		}
	}
	slices.SortFunc(lacking, func(a, b refs.FrameRef) int { return cmp.Compare(a.Frame, b.Frame) })
	return lacking, nil
}
