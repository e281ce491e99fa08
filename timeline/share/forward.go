package share

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// framesAtOnce is the number of frame refs in one transaction.
const framesAtOnce = 200

// forward moves the tip of a run to a descendant, and creates refs of the new frames
// as smithers.frameRefs allows. Frames without a ref are found through the chain.
func (f *fetch) forward(ctx context.Context, run *incomingRun, there objstore.ID) error {
	entry, err := snapshot.ReadEntry(f.store.Objects(), there)
	if err != nil {
		return err
	}
	fresh, err := f.store.Frames(ctx, entry, run.local)
	if err != nil {
		return err
	}
	tip, err := refs.Tip(run.RunID)
	if err != nil {
		return err
	}
	if err := f.store.Refs().Apply(ctx, refs.Update{Name: tip, Old: run.local, New: there}); err != nil {
		return err
	}
	run.Tip, run.Frames = there, len(fresh.Frames)
	return f.frameRefs(ctx, run.RunID, fresh.Frames)
}

// frameRefs creates the missing refs of frames, if there is room for all of them. It does not check
// existing ones; verify does.
func (f *fetch) frameRefs(ctx context.Context, run string, frames []refs.FrameRef) error {
	room, err := f.room(ctx)
	if err != nil || int64(len(frames)) > *room {
		return err
	}
	have, err := f.store.Refs().Frames(ctx, run)
	if err = f.broken(err); err != nil {
		return err
	}
	there := make(map[int64]bool)
	for _, ref := range have {
		there[ref.Frame] = true
	}
	var updates []refs.Update
	for _, frame := range slices.Backward(frames) {
		if there[frame.Frame] {
			continue
		}
		name, err := refs.Frame(run, frame.Frame)
		if err != nil {
			return err
		}
		updates = append(updates, refs.Update{Name: name, New: frame.ID})
	}
	for chunk := range slices.Chunk(updates, framesAtOnce) {
		if err := f.store.Refs().Apply(ctx, chunk...); err != nil {
			return f.tolerate(err)
		}
		*room -= int64(len(chunk))
	}
	return f.store.Refs().PackIfMany(ctx)
}

// tolerate ignores an error about a frame ref that is broken or that another process creates now,
// because the frame is found through the chain.
func (f *fetch) tolerate(err error) error {
	if errors.Is(err, refs.ErrConflict) {
		return nil
	}
	return f.broken(err)
}

// room returns the number of frame refs that may still be created here.
func (f *fetch) room(ctx context.Context) (*int64, error) {
	if f.budget != nil {
		return f.budget, nil
	}
	left, err := f.store.FrameRefs().Room(ctx)
	if err != nil {
		return nil, err
	}
	f.budget = &left
	return f.budget, nil
}
