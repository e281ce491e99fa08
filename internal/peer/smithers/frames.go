package smithers

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// appendFrame appends the frame of the snapshot with index i in r.Heads. Before the frame, it appends entries for
// working copies that no frame has. If the request asks for files, appendFrame captures the present working copy
// for the newest frame and for each frame close to it in time: see dbrun.Run.IsTogether.
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
	return r.draftFrame(ctx, of)
}

// appendAll appends the entries of drafts. upTo is the number of the database's events that the run has after the last of
// them, which alone has events.
func (r *runPass) appendAll(ctx context.Context, drafts []snapshot.Draft, upTo int) error {
	for i, draft := range drafts {
		to := r.behind
		if i == len(drafts)-1 {
			to = upTo
		}
		if err := r.append(ctx, draft, to); err != nil {
			return err
		}
	}
	return nil
}

// append appends the entry of draft to the series. It updates the end of the line, the stored events and the
// journal. upTo is the number of the database's events that the run has after the entry.
//
// If the entry is the first of the run, append adds the first parts of ext/smithers to draft. If the entry is a
// frame, append adds an undo for each op of r.overtakes.
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

// stateOf returns the state of entry. It returns the empty state if entry is nil or the state cannot be read. This
// hides no error: append also reads the state, and returns the error.
func stateOf(entry *snapshot.Entry) *snapshot.State {
	if entry != nil {
		if state, err := entry.State(); err == nil {
			return state
		}
	}
	return snapshot.EmptyState()
}

// filesOf returns the working copy of entry. It returns nil if entry is nil or has no working copy.
func filesOf(entry *snapshot.Entry) (*snapshot.VCS, error) {
	if entry == nil {
		return nil, nil //nolint:nilnil // a missing entry has no working copy
	}
	return entry.VCSRevision()
}

// ofCore reports whether c changes the state outside the mailbox.
func ofCore(c snapshot.Change) bool {
	switch c.Collection {
	case snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals, snapshot.CollectionWaits:
		return false
	}
	return true
}
