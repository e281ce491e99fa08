package share

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// moveAside makes a split: it creates the fork, moves the run's tip to the remote's tip, and creates refs for the
// run's new frames. If forkTip is not zero, an interrupted fetch has created the fork already, and forkTip is the
// fork's tip.
//
// moveAside first deletes the frame refs that the run will lose, so that no frame ref ever points to a wrong
// frame. A frame without a ref is found through the chain. moveAside deletes frame refs only while the run's tip
// is still the local tip, because otherwise another process may have split the run and created these refs. If the
// run's tip then cannot be moved, moveAside recreates the deleted frame refs.
func (s splitter) moveAside(ctx context.Context, what split, fork *extension, forkTip objstore.ID) error {
	batch := s.store.Objects().Begin()
	updates, err := s.forkUpdates(ctx, batch, fork, forkTip)
	if err != nil {
		return err
	}
	tip, err := refs.Tip(what.run)
	if err != nil {
		return err
	}
	after, err := s.store.Frames(ctx, what.remote, fork.parent.Commit)
	if err != nil {
		return err
	}
	created, err := s.keptRefs(what.run, after.Frames)
	if err != nil {
		return err
	}
	updates = append(append(updates, refs.Update{Name: tip, Old: what.local.ID, New: what.remote.ID}), created...)
	still := refs.Update{Name: tip, Old: what.local.ID, New: what.local.ID}
	gone, err := s.dropRefs(ctx, what.run, []refs.Update{still}, func(ref refs.FrameRef) bool { return ref.Frame > fork.parent.Frame })
	if err != nil {
		return err
	}
	if err := s.store.Commit(ctx, batch, updates); err != nil {
		s.putBack(context.WithoutCancel(ctx), still, gone)
		return err
	}
	// A process that read the old tip may have created the ref of its newest frame. Frame 0 of the fork stays a frame
	// of the run.
	moved := make(map[objstore.ID]bool)
	for _, f := range fork.frames {
		moved[f.ID] = f.Frame > 0
	}
	_, err = s.dropRefs(context.WithoutCancel(ctx), what.run, nil, func(ref refs.FrameRef) bool { return moved[ref.ID] })
	return err
}

// forkUpdates returns the ref updates that create the fork, and writes the fork's first entry to w. If forkTip is
// not zero, the fork exists. forkUpdates then writes nothing, and returns the updates that create the fork's
// missing frame refs. A broken frame ref is not missing.
func (s splitter) forkUpdates(ctx context.Context, w objstore.Writer, fork *extension, forkTip objstore.ID) ([]refs.Update, error) {
	if forkTip.IsZero() {
		entry, err := s.write(fork, w)
		if err != nil {
			return nil, err
		}
		return s.updates(fork, entry.ID)
	}
	all, err := s.keptRefs(fork.id, fork.frames)
	if err != nil {
		return nil, err
	}
	var missing []refs.Update
	for _, update := range all {
		_, err := s.store.Refs().Resolve(ctx, update.Name)
		if errors.Is(err, refs.ErrNotFound) {
			missing = append(missing, update)
		} else if err != nil && !errors.Is(err, refs.ErrBroken) {
			return nil, err
		}
	}
	return missing, nil
}

// dropRefs deletes the frame refs of run for which drop returns true, and returns the updates that delete these refs.
// The updates in others are part of the same transaction, so no ref is deleted if a ref that others names has moved. If
// drop returns true for no frame ref, dropRefs changes nothing and returns nil.
func (s splitter) dropRefs(ctx context.Context, run string, others []refs.Update, drop func(refs.FrameRef) bool) ([]refs.Update, error) {
	list, err := s.store.Refs().Frames(ctx, run)
	if err != nil && !errors.Is(err, refs.ErrBroken) { // the command verify reports broken refs
		return nil, err
	}
	var updates []refs.Update
	for _, ref := range list {
		if !drop(ref) {
			continue
		}
		name, err := refs.Frame(run, ref.Frame)
		if err != nil {
			return nil, err
		}
		updates = append(updates, refs.Update{Name: name, Old: ref.ID})
	}
	if len(updates) == 0 {
		return nil, nil
	}
	return updates, s.store.Refs().Apply(ctx, slices.Concat(others, updates)...)
}

// putBack recreates the frame refs that the updates in dropped have deleted. guard is an update that leaves the
// run's tip unchanged. Each transaction has this update, so putBack recreates no ref if the tip has moved since. A
// failure is only a warning, because a frame without a ref is found through the chain.
func (s splitter) putBack(ctx context.Context, guard refs.Update, dropped []refs.Update) {
	for _, update := range dropped {
		err := s.store.Refs().Apply(ctx, guard, refs.Update{Name: update.Name, New: update.Old})
		if err != nil && !errors.Is(err, refs.ErrConflict) {
			s.store.Warn(fmt.Errorf("the frame ref %s was not recreated: %w", update.Name, err))
		}
	}
}
