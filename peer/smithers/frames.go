package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// drafter returns the drafter of the pass.
func (r *runPass) drafter() *drafter {
	return &drafter{peer: r.Run, box: &r.box, limits: r.im.limits, isNew: r.head == nil, live: r.live}
}

// appendFrame appends the frame of snapshot i. Before it, it appends entries for working copies since the last frame
// that no other entry keeps.
func (r *runPass) appendFrame(ctx context.Context, i int) (err error) {
	of := peerFrame{index: i}
	if of.Snapshot, err = r.Snapshot(r.Heads[i].Frame); err != nil {
		return err
	}
	if r.im.req.Files && (i == len(r.Heads)-1 || r.IsTogether(of.AtMs)) {
		if of.captured, err = r.Copies.Capture(ctx); err != nil {
			return err
		}
	}
	step, err := r.drafter().frame(r.runLine, of)
	if err != nil {
		return err
	}
	return r.take(ctx, step)
}

// take appends the entries of a step, and updates the line.
func (r *runPass) take(ctx context.Context, step *lineStep) error {
	for _, draft := range step.passing {
		if err := r.append(ctx, draft, r.behind); err != nil {
			return err
		}
	}
	if err := r.append(ctx, step.draft, step.upTo); err != nil {
		return err
	}
	r.move(step)
	if step.frame != nil {
		r.out.Frames++
		r.out.Marks = append(r.out.Marks, step.frame.note.marks...)
	}
	return nil
}

// append appends an entry. After it, the first upTo events of the database are stored.
func (r *runPass) append(ctx context.Context, draft snapshot.Draft, upTo int) error {
	if r.first() {
		if err := r.addFirst(ctx, &draft); err != nil {
			return err
		}
	}
	if draft.Frame != nil && len(r.overtakes.ops) > 0 {
		if err := r.overtakes.addTo(&draft, r.entry, r.next()); err != nil {
			return err
		}
	}
	entry, err := r.series.Append(ctx, draft)
	if err != nil {
		return err
	}
	r.made = append(r.made, entry.ID)
	r.entry, r.behind, r.opened = entry, upTo, true
	r.store(draft.Events)
	return r.journal.take(draft.Journal)
}

// stateOf returns the state of an entry. If entry is nil or its state cannot be read, it returns the empty state;
// append reports the error.
func stateOf(entry *snapshot.Entry) *snapshot.State {
	if entry != nil {
		if state, err := entry.State(); err == nil {
			return state
		}
	}
	return snapshot.EmptyState()
}

// filesOf returns the working copy of an entry, or nil.
func filesOf(entry *snapshot.Entry) (*snapshot.VCS, error) {
	if entry == nil {
		return nil, nil //nolint:nilnil // no entry has no files
	}
	return entry.VCSRevision()
}

// ofCore reports whether a change is outside the mailbox.
func ofCore(c snapshot.Change) bool {
	switch c.Collection {
	case snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals, snapshot.CollectionWaits:
		return false
	}
	return true
}
