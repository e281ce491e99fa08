package timeline

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// group are the entries that a head has appended since Hold.
type group struct {
	from    Head // the head before
	batch   *objstore.Batch
	entries []*snapshot.Entry // oldest first
	lines   []byte            // notes that this clone has recorded the entries
}

// Hold makes Append keep its entries in memory until Release puts them into the run together. The head must know an entry. An entry
// with captured files cannot be held.
func (h *Head) Hold() { h.held = &group{from: *h, batch: h.store.objects.Begin()} }

// hold appends an entry to the group.
func (h *Head) hold(next *snapshot.Entry) error {
	g := h.held
	h.store.noteExecuted(h.entry)
	g.lines = append(g.lines, follows(h.entry.ID, next.ID)...)
	g.entries = append(g.entries, next)
	return h.adopt(next)
}

// Release puts the entries since Hold into the run, so that readers see all of them or none, and ends the hold. The result is that of
// Append: after an error, the run has none of the entries, and h knows the tip that it knew before Hold. Refs of earlier frames follow when
// the process is idle. Without entries, Release puts the tip on stable storage.
func (h *Head) Release(ctx context.Context) error {
	g, newest := h.held, h.entry
	if h.held = nil; g == nil || len(g.entries) == 0 {
		return h.Settle(ctx)
	}
	now := *h
	*h = g.from
	updates, frames, err := g.updates(h.tip)
	if err != nil {
		return Explain(err)
	}
	s := h.store
	s.record(now.row, g.lines)
	if err := s.commit(ctx, g.batch, updates, len(g.entries)); err != nil {
		// If ctx ended during the write, the refs may have moved nevertheless.
		if ctx := context.WithoutCancel(ctx); !h.wentIn(ctx, newest) || s.refs.Settle(ctx, h.tip) != nil {
			return err
		}
	}
	went := !h.row.Status.Ended()
	*h, h.settled = now, newest.ID
	// The objects of the group stay in memory as long as an entry of it.
	if entry, err := snapshot.ReadEntry(s.objects, newest.ID); err == nil {
		_ = h.adopt(entry) // or h keeps the entry of the group
	}
	if len(frames) > 1 {
		s.later.add(h.row.ID, frames[:len(frames)-1], math.MaxInt)
	}
	if went && h.row.Status.Ended() {
		s.upkeep.runEnded(h.row.ID)
	}
	return nil
}

// wentIn reports whether the run has an entry that follows the one that h knows, although the write of the entry has failed.
func (h *Head) wentIn(ctx context.Context, next *snapshot.Entry) bool {
	tip, err := h.store.refs.Resolve(ctx, h.tip)
	if err != nil || tip == h.entry.ID {
		return false
	}
	newest, err := snapshot.ReadEntry(h.store.objects, tip)
	if err != nil {
		return false
	}
	found := h.findSame(newest, next)
	return found != nil && found.ID == next.ID
}

// updates returns the updates that put the group into its run, and the group's frames, oldest first.
func (g *group) updates(tip refs.Name) (updates []refs.Update, frames []refs.FrameRef, err error) {
	for _, entry := range g.entries {
		if entry.Frame != snapshot.NoFrame {
			frames = append(frames, refs.FrameRef{Frame: entry.Frame, ID: entry.ID})
		}
	}
	newest := g.entries[len(g.entries)-1]
	updates = []refs.Update{{Name: tip, Old: g.from.entry.ID, New: newest.ID}}
	if len(frames) > 0 {
		last := frames[len(frames)-1]
		var name refs.Name
		if name, err = refs.Frame(newest.Run, last.Frame); err == nil {
			updates = append(updates, refs.Update{Name: name, New: last.ID})
		}
	}
	return updates, frames, err
}

// Chain returns the entries of the run from the newest one that h knows, newest first, as [Store.Chain] does, also those that are held.
func (h *Head) Chain() iter.Seq2[*snapshot.Entry, error] {
	return func(yield func(*snapshot.Entry, error) bool) {
		from := h.entry
		if g := h.held; g != nil {
			from = g.from.entry
			for _, entry := range slices.Backward(g.entries) {
				if !yield(entry, nil) {
					return
				}
			}
		}
		for entry, err := range h.store.Chain(from) {
			if !yield(entry, err) {
				return
			}
		}
	}
}

// errHeld is the error of an append of captured files to a group.
func errHeld() error { return fault.New(fault.Internal, "an entry with captured files cannot be held") }
