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

// Append adds an entry to the run, on exactly the tip that h knows, and makes the entry the tip that h knows. If
// the tip has moved, Append leaves the run unchanged and returns conflict; Refresh reads the new tip. When Append
// returns nil, the entry and its refs are on stable storage, unless Settings.Fsync is false.
//
// A draft without a time gets the store's time. An entry that is a frame also gets the event that announces the
// frame, unless the frame is silent. Append captures no files: the entry keeps the files of the entry before,
// unless draft.VCS is set. WorkingCopy.Append in package code captures files. Placeholders replace the secrets in the
// draft; see [Store.Secrets].
//
// Sometimes the run has the entry although the write reported an error, or another process has appended an entry
// with the same draft.Operation. Append then makes this entry the tip that h knows and returns nil. The run has
// the entry only once, but the entry is not necessarily the run's tip.
func (h *Head) Append(ctx context.Context, draft snapshot.Draft) error {
	s := h.store
	defer s.appends.measure(s.now)()
	if draft.AtMs == 0 {
		draft.AtMs = s.now().UnixMilli()
	}
	draft.Limits = s.settings.Limits
	if draft.VCS != nil {
		vcs, err := s.maskNames(*draft.VCS)
		if err != nil {
			return Explain(err)
		}
		draft.VCS = &vcs
	}
	book := s.Secrets(h.row)
	draft.Redactor, draft.Marker = book, s.vault
	batch := s.objects.Begin()
	if h.held != nil {
		if batch = h.held.batch; draft.VCS != nil {
			return errHeld()
		}
	}
	had := batch.Len()
	next, err := snapshot.Append(batch, s.frames, h.entry, draft)
	if err == nil {
		err = book.Sync() // the secrets before the history without them
	}
	if err != nil {
		batch.Shorten(had)
		return Explain(err)
	}
	if h.held != nil {
		return h.hold(next)
	}
	updates, err := h.updates(next)
	if err != nil {
		return Explain(err)
	}
	h.noteNext(next)
	if err := s.Commit(ctx, batch, updates); err != nil {
		// If ctx ended during the write, the refs may have moved nevertheless.
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

// updates returns the ref updates that make next the run's tip: the update of the tip first and, if next is a
// frame, the creation of the frame's ref.
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

// findAppended looks for the entry next in the run, although the append of next failed with the error cause. It looks
// above the tip that h knows for an entry with the id of next, or with the same operation. If there is no such entry,
// or the search fails, findAppended returns cause.
//
// If there is such an entry, findAppended puts the run's tip on stable storage and makes the found entry the tip that h
// knows. It then repairs the newest frame's ref and returns nil. Unless cause is a conflict, it becomes a warning. If
// the tip cannot be put on stable storage, findAppended returns cause.
func (h *Head) findAppended(ctx context.Context, next *snapshot.Entry, cause error) error {
	conflict := fault.CodeOf(cause) == fault.Conflict
	if conflict && next.Operation == "" {
		return cause // another process moved the tip, and an entry without an operation cannot be recognized
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
		s.warn(fmt.Errorf("entry %s was appended to run %q despite an error: %w", found.ID, found.Run, cause))
	}
	if err := s.refs.Settle(ctx, h.tip); err != nil {
		return cause // the next try under the same operation finds the entry again
	}
	if err := h.adopt(found); err != nil {
		return err
	}
	return s.FrameRefs().RepairNewest(ctx, h.row, found)
}

// findSame looks for an entry with the id or the operation of next, among the entries from tip down to the entry that
// h knows. An empty operation matches no entry. findSame returns the newest matching entry. It returns nil if no entry
// matches, if an entry is unreadable, or if tip does not descend from the entry that h knows.
func (h *Head) findSame(tip, next *snapshot.Entry) (found *snapshot.Entry) {
	for entry, err := range h.store.Chain(tip) {
		switch {
		case err != nil || entry.IsView():
			return nil
		case h.entry != nil && entry.ID == h.entry.ID:
			return found
		case found != nil: // the walk continues, because the chain must reach the entry that h knows
		case entry.ID == next.ID || next.Operation != "" && entry.Operation == next.Operation:
			found = entry
		}
		// A new run has no known entry at which the walk could end.
		if h.entry == nil && found != nil {
			return found
		}
	}
	return nil
}

// Update calls build and appends the draft that build returns. If another process has moved the tip, Update pauses,
// refreshes h and calls build again, until the append succeeds or ctx ends. It returns every other error of Append at
// once. If build returns a nil draft, Update appends nothing and puts the run's tip on stable storage. If build returns
// an error, Update appends nothing and returns the error. If the draft has an Operation, the appended entry is not
// necessarily the tip afterwards; see Append.
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

// Commit writes a batch, and then applies the ref updates that make the batch reachable. The first update must be
// the update of a run's tip or of refs.Base. Code: conflict if a ref does not have its expected old value; the
// batch is written even then. A frame ref that does not belong to its run is not a conflict: Commit replaces it, with
// a warning. After a crash, some updates may be missing; an update is never made without all updates before it.
func (s *Store) Commit(ctx context.Context, batch *objstore.Batch, updates []refs.Update) error {
	return s.commit(ctx, batch, updates, 1)
}

// commit does the work of Commit for a batch with so many entries.
func (s *Store) commit(ctx context.Context, batch *objstore.Batch, updates []refs.Update, entries int) error {
	s.NoteLoans()
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
	s.upkeep.wrote(ctx, entries)
	return nil
}

// replaceStrays handles cause, the error of the first try to apply the updates. A stray is a frame ref that exists
// although the run's chain has not reached its frame number. replaceStrays treats a frame ref as a stray if cause is
// about the ref, and the tip still has its expected value. If the tip has moved, another process appended first, and
// the frame ref belongs to the run.
//
// If cause is about a stray, replaceStrays changes the stray's update in updates, so that the update replaces the
// stray. It then applies the updates again, and returns the error of this second try, or warns if the second try
// succeeds. In every other case it returns cause.
func replaceStrays(ctx context.Context, s *Store, updates []refs.Update, cause error) error {
	tip, err := s.refs.Resolve(ctx, updates[0].Name)
	if err != nil && !errors.Is(err, refs.ErrNotFound) || tip != updates[0].Old {
		return cause
	}
	var conflict *refs.ConflictError
	var broken *refs.BrokenError
	for i := 1; i < len(updates); i++ { // the first update is the tip's
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
		s.warn(fmt.Errorf("replaced frame ref %s, which did not belong to its run: %w", updates[i].Name, cause))
		return nil
	}
	return cause
}
