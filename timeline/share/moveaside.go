package share

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
)

// moveAside makes the fork, unless made is its tip already, and moves the run to what the
// remote has. Frame refs that the run will not have go first: at no time is there one that
// lies, and one that is missing is found through the chain. They go only as long as the
// tip is the local one: another process may split the run just now, and they are its then.
func (s *Sharer) moveAside(ctx context.Context, what split, fork *extension, made objstore.ID) error {
	batch := s.parts.Objects.Begin()
	updates, err := s.forkUpdates(ctx, batch, fork, made)
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
	// Who read the tip before it moved, and found its newest frame without a ref, made one.
	moved := make(map[objstore.ID]bool)
	for _, f := range fork.frames {
		moved[f.ID] = f.Frame > 0
	}
	_, err = s.dropRefs(context.WithoutCancel(ctx), what.run, nil, func(ref refs.FrameRef) bool { return moved[ref.ID] })
	return err
}

// forkUpdates writes the fork's first entry, and returns what makes the fork: of one that
// was made already, the frame refs that it lacks.
func (s *Sharer) forkUpdates(ctx context.Context, w objstore.Writer, fork *extension, made objstore.ID) ([]refs.Update, error) {
	if made.IsZero() {
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
		_, err := s.parts.Refs.Resolve(ctx, update.Name)
		if errors.Is(err, refs.ErrNotFound) {
			missing = append(missing, update)
		} else if err != nil && !errors.Is(err, refs.ErrBroken) {
			return nil, err
		}
	}
	return missing, nil
}

// dropRefs drops the frame refs of a run that which chooses, as long as others stay as
// they are, and returns what it did.
func (s *Sharer) dropRefs(ctx context.Context, run string, others []refs.Update, which func(refs.FrameRef) bool) ([]refs.Update, error) {
	list, err := s.parts.Refs.Frames(ctx, run)
	if err != nil && !errors.Is(err, refs.ErrBroken) { // verify names these
		return nil, err
	}
	var updates []refs.Update
	for _, ref := range list {
		if !which(ref) {
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
	return updates, s.parts.Refs.Apply(ctx, slices.Concat(others, updates)...)
}

// putBack makes the frame refs again that were dropped in vain, as long as the run's tip
// has not moved. Frames without a ref are found through the chain.
func (s *Sharer) putBack(ctx context.Context, still refs.Update, dropped []refs.Update) {
	for _, update := range dropped {
		err := s.parts.Refs.Apply(ctx, still, refs.Update{Name: update.Name, New: update.Old})
		if err != nil && !errors.Is(err, refs.ErrConflict) {
			s.parts.Warn(fmt.Errorf("make %s again: %w", update.Name, err))
		}
	}
}
