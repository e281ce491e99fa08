package timeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Append adds an entry to the run on exactly the tip that h knows. If the tip has
// moved, the error's code is conflict, nothing is written, and Refresh shows the
// new tip. When Append returns nil, the entry and its refs are on stable storage,
// as far as the repository's core.fsync asks for it. A draft without a time gets
// the store's; a frame announces itself. Append captures no files: the entry keeps those of the one
// before, unless draft.VCS says otherwise. [WorkingCopy.Append] captures them.
//
// An entry that got into the run although writing it failed, or by another process
// under the same draft.Operation, is adopted: Append returns nil, and the entry is
// there once. It need not be the tip then.
func (h *Head) Append(ctx context.Context, draft snapshot.Draft) error {
	s := h.store
	if draft.AtMs == 0 {
		draft.AtMs = s.now().UnixMilli()
	}
	draft.Limits = s.settings.Limits
	batch := s.objects.Begin()
	next, err := snapshot.Append(batch, s.frames, h.entry, draft)
	if err != nil {
		return Explain(err)
	}
	updates, err := h.updates(next)
	if err != nil {
		return Explain(err)
	}
	if err := s.Commit(ctx, batch, updates); err != nil {
		// Whether the refs moved is to be known also when ctx is why that is unclear.
		return h.findAppended(context.WithoutCancel(ctx), next, err)
	}
	went := !h.row.Status.Ended()
	h.settled = next.ID
	if err := h.adopt(next); err != nil {
		return err
	}
	if went && h.row.Status.Ended() {
		s.upkeep.runEnded(h.row.ID)
	}
	return nil
}

// updates are the moves of refs that make next the tip, the tip first.
func (h *Head) updates(next *snapshot.Entry) ([]refs.Update, error) {
	updates := []refs.Update{{Name: h.tip, New: next.ID}}
	if h.entry != nil {
		updates[0].Old = h.entry.ID
	}
	if next.Frame == snapshot.NoFrame {
		return updates, nil
	}
	name, err := refs.Frame(next.Run, next.Frame)
	return append(updates, refs.Update{Name: name, New: next.ID}), err
}

// findAppended looks for next in the run after cause kept it from being appended, as
// far as is known: among the entries that follow the one it was built on, it is the one
// of its id or operation. That is adopted; where there is none, cause it is.
func (h *Head) findAppended(ctx context.Context, next *snapshot.Entry, cause error) error {
	conflict := fault.CodeOf(cause) == fault.Conflict
	if conflict && next.Operation == "" {
		return cause // another was first, and did not say that it does the same
	}
	s := h.store
	tip, err := s.refs.Resolve(ctx, h.tip)
	if err != nil || h.entry != nil && tip == h.entry.ID {
		return cause
	}
	entry, err := snapshot.ReadEntry(s.objects, tip)
	if err != nil {
		return cause
	}
	found := h.findSame(entry, next)
	if found == nil {
		return cause
	}
	if !conflict {
		s.warn(fmt.Errorf("%s was appended to run %q although this went wrong: %w", found.ID, found.Run, cause))
	}
	if err := s.refs.Settle(ctx, h.tip); err != nil {
		return cause // the next try under the same operation finds it again
	}
	if err := h.adopt(found); err != nil {
		return err
	}
	return s.FrameRefs().RepairNewest(ctx, h.row, found)
}

// findSame finds the newest entry of next's id or operation from a tip down to the entry
// that h knows; nil where there is none, or the tip does not follow that.
func (h *Head) findSame(tip, next *snapshot.Entry) (found *snapshot.Entry) {
	for entry, err := range h.store.Chain(tip) {
		switch {
		case err != nil || entry.IsView():
			return nil
		case h.entry != nil && entry.ID == h.entry.ID:
			return found
		case found != nil:
		case entry.ID == next.ID || next.Operation != "" && entry.Operation == next.Operation:
			found = entry
		}
		if h.entry == nil && found != nil {
			return found
		}
	}
	return nil
}

// Update appends what build makes of the tip, and builds it again while others move
// the tip. A nil draft appends nothing; the tip that it was made of is on stable storage
// then. The entry that is appended need not be the tip afterwards where its draft has an
// Operation; see Append.
func (h *Head) Update(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	for try := 1; ; try++ {
		draft, err := build()
		if err != nil {
			return Explain(err)
		}
		if draft == nil {
			return h.Settle(ctx)
		}
		if err = h.Append(ctx, *draft); fault.CodeOf(err) != fault.Conflict || err == nil {
			return err
		}
		if err := Pause(ctx, try); err != nil {
			return Explain(err)
		}
		if err := h.Refresh(ctx); err != nil {
			return err
		}
	}
}

// Commit writes a batch and moves the refs that make it reachable, in their order: a crash
// leaves a prefix of them. Code: conflict if a ref is not where it is expected.
func (s *Store) Commit(ctx context.Context, batch *objstore.Batch, updates []refs.Update) error {
	err := batch.Commit(ctx, func() error {
		err := s.refs.Apply(ctx, updates...)
		if err == nil {
			return nil
		}
		return replaceStrays(ctx, s, updates, err)
	})
	if err != nil {
		return Explain(err)
	}
	s.upkeep.wrote(ctx)
	return nil
}

// replaceStrays tries once more where only a frame ref stood in the way: a frame
// ref at a number that the chain has not reached is nobody's frame, whatever put
// it there. The tip decides: where it is no longer what the entry was built on,
// somebody else was first, and the frame ref is theirs.
func replaceStrays(ctx context.Context, s *Store, updates []refs.Update, cause error) error {
	tip, err := s.refs.Resolve(ctx, updates[0].Name)
	if err != nil && !errors.Is(err, refs.ErrNotFound) || tip != updates[0].Old {
		return cause
	}
	var conflict *refs.ConflictError
	var broken *refs.BrokenError
	for i := 1; i < len(updates); i++ {
		name := updates[i].Name
		if _, frame, err := name.Split(); err != nil || frame == refs.NoFrame {
			continue
		}
		switch {
		case errors.As(cause, &conflict) && conflict.Name == name:
			updates[i].Old = conflict.Actual
		case errors.As(cause, &broken) && broken.Name == name:
			if err := s.refs.RemoveBroken(ctx, name); err != nil {
				return errors.Join(cause, err)
			}
		default:
			continue
		}
		if err := s.refs.Apply(ctx, updates...); err != nil {
			return err
		}
		s.warn(fmt.Errorf("replaced %s, which was not part of its run: %w", updates[i].Name, cause))
		return nil
	}
	return cause
}
