package share

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// framesAtOnce is the maximum number of frame refs that one transaction creates.
const framesAtOnce = 200

// forward moves the local tip of run to theirTip, the remote's tip, and sets run.Tip and run.Frames. theirTip
// must descend from the local tip, unless the run is new in this repository, and check must have read what is new. forward also creates refs of the
// new frames if smithers.frameRefs allows them. A frame without a ref is found through the chain.
func (f *fetch) forward(ctx context.Context, run *incomingRun, theirTip objstore.ID) error {
	entry, err := snapshot.ReadEntry(f.store.Objects(), theirTip)
	if err != nil {
		return err
	}
	row, err := entry.RunRow()
	if err != nil {
		return err
	}
	fresh := run.checked
	if first := len(fresh) - 1; row.Parent != nil && row.Parent.Commit != run.local && (first < 0 || fresh[first].Frame != 0) {
		fresh = append(fresh, refs.FrameRef{ID: row.Parent.Commit}) // a fork that changed nothing has the parent's frame as frame 0
	}
	tip, err := refs.Tip(run.RunID)
	if err != nil {
		return err
	}
	if err := f.store.Refs().Apply(ctx, refs.Update{Name: tip, Old: run.local, New: theirTip}); err != nil {
		return err
	}
	run.Tip, run.Frames = theirTip, len(fresh)
	return f.frameRefs(ctx, run.RunID, fresh)
}

// frameRefs creates the missing refs of the given frames of run. If smithers.frameRefs leaves no room for all frames,
// frameRefs creates no ref. If a frame ref is broken, or another process creates a frame ref first, frameRefs stops
// without an error. This is safe, because a frame without a ref is found through the chain. frameRefs does not check
// the values of existing refs; the command verify does.
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

// tolerate returns nil if err, from the creation of frame refs, means that a ref is broken or that another process is
// creating the ref. A broken ref is also a warning. tolerate returns any other error unchanged.
func (f *fetch) tolerate(err error) error {
	if errors.Is(err, refs.ErrConflict) {
		return nil
	}
	return f.broken(err)
}

// room returns a pointer to the number of frame refs that this fetch may still create. The first call counts the refs
// of this repository. The caller subtracts the refs that it creates.
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
