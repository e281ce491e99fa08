package share

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// split is a run that was continued both in this repository and at a remote.
type split struct {
	run    string          // the id of the run
	local  *snapshot.Entry // the local tip
	remote *snapshot.Entry // the remote's tip, already checked
	common objstore.ID     // the newest common entry
}

// splitter makes new runs from the entries of existing histories.
type splitter struct{ store *timeline.Store }

// splitOff makes a fork of the local continuation of a run, moves the run's tip and frame refs to the remote's
// entries, and returns the fork's id. The id is derived from the run's id and the local tip, so that a later
// fetch can continue an interrupted split. After a crash, the run may have lost only frame refs that the split
// would delete. Worktrees and files of attempts that belong to the local continuation move to the fork.
//
// If a live process in this repository owns the run, the error's code is run_owned. If the tip has moved in
// the meantime, the code is conflict. In both cases the run is unchanged.
func (s splitter) splitOff(ctx context.Context, what split) (fork string, err error) {
	row, err := what.local.RunRow()
	if err != nil {
		return "", timeline.Explain(err)
	}
	if err := s.store.RefuseOwned(row); err != nil {
		return "", err
	}
	parent, err := s.parentOf(what, row)
	if err != nil {
		return "", timeline.Explain(err)
	}
	added, err := s.extension(ctx, what.local, parent)
	if err != nil {
		return "", timeline.Explain(err)
	}
	added.events, err = s.eventsAfter(what.local, parent.Commit)
	if err != nil {
		return "", timeline.Explain(err)
	}
	id, made, err := s.forkID(ctx, what)
	if err != nil {
		return "", timeline.Explain(err)
	}
	added.id, added.subject = id, fmt.Sprintf("split off %s, which was also continued elsewhere", what.run)
	if err := s.moveAside(ctx, what, added, made); err != nil {
		return "", timeline.Explain(err)
	}
	// The fork continues the local work, so this machine's files and worktrees of the run now belong to the fork.
	claim.HandOver(context.WithoutCancel(ctx), s.store, what.run, id)
	files.HandOver(s.store, what.run, id)
	return id, nil
}

// adoptAs makes a new run with the given id from the checked history of tip, which belongs to another run. The new
// run is a fork. Its frame 0 is the first frame of that history, and its frames are the same commits. The error's
// code is run_exists if a run has the id, and run_pruned if a run with the id was pruned. It is invalid_run_id if
// the id is invalid.
func (s splitter) adoptAs(ctx context.Context, tip *snapshot.Entry, id string) error {
	if err := timeline.CheckNew(ctx, s.store, id); err != nil {
		return err
	}
	parent := &snapshot.Parent{RunID: tip.Run, Extension: tip.ID}
	first, err := s.frameAt(tip, func(e *snapshot.Entry) bool { return e.Frame == 0 })
	if err != nil {
		return timeline.Explain(err)
	}
	parent.Commit = first.ID
	if parent.Commit == tip.ID { // nothing follows frame 0
		parent.Extension = objstore.ID{}
	}
	added, err := s.extension(ctx, tip, parent)
	if err != nil {
		return timeline.Explain(err)
	}
	if added.events, err = s.eventsAfter(tip, objstore.ID{}); err != nil {
		return timeline.Explain(err)
	}
	added.id, added.subject = id, fmt.Sprintf("another run's history, which is called %s elsewhere", tip.Run)
	batch := s.store.Objects().Begin()
	entry, err := s.write(added, batch)
	if err != nil {
		return timeline.Explain(err)
	}
	updates, err := s.updates(added, entry.ID)
	if err != nil {
		return timeline.Explain(err)
	}
	err = s.store.Commit(ctx, batch, updates)
	if fault.CodeOf(err) == fault.Conflict { // a run with the id exists
		return fault.New(fault.RunExists, "run %q exists already", id).Hint("choose another id").Detail("runId", id)
	}
	return err
}

// parentOf returns the parent of the fork: the newest frame at or before what.common, the common entry. row is the
// row of the run at the local tip. If the run is itself a fork, this frame may be its frame 0, an entry of the
// run's parent. If the local chain does not have the common entry, parentOf returns an error.
func (s splitter) parentOf(what split, row snapshot.Run) (*snapshot.Parent, error) {
	both := false // the walk has reached the entries that both sides have
	found, err := s.frameAt(what.local, func(e *snapshot.Entry) bool {
		both = both || e.ID == what.common
		return both && e.Frame != snapshot.NoFrame
	})
	if err != nil {
		return nil, err
	}
	if !both {
		return nil, fmt.Errorf("entry %v is not in run %q", what.common, row.ID)
	}
	return &snapshot.Parent{RunID: row.ID, Frame: found.Frame, Commit: found.ID, Extension: what.local.ID}, nil
}

// frameAt returns the number and the id of the newest entry of tip's run for which accepts returns true. If
// accepts returns false for all entries and the run is a fork, frameAt returns the parent's entry as frame 0. If
// the run is not a fork, the error wraps objstore.ErrCorrupt.
func (s splitter) frameAt(tip *snapshot.Entry, accepts func(*snapshot.Entry) bool) (refs.FrameRef, error) {
	for entry, err := range s.store.Chain(tip) {
		if err != nil {
			return refs.FrameRef{}, err
		}
		if accepts(entry) {
			return refs.FrameRef{Frame: entry.Frame, ID: entry.ID}, nil
		}
	}
	row, err := tip.RunRow()
	if err == nil && row.Parent == nil {
		err = &objstore.CorruptError{ID: tip.ID, Reason: "entry: the run has no frame 0"}
	}
	if err != nil {
		return refs.FrameRef{}, err
	}
	return refs.FrameRef{Frame: 0, ID: row.Parent.Commit}, nil
}

// forkID returns the id for the fork: the run's id and the first 8 digits of the local tip's id. If this id
// would be too long, it has only the digits. If another run has or had the id, forkID tries more digits. If
// every such id is taken, the error's code is run_exists. made is the tip of the fork if an interrupted fetch
// has already created it, and otherwise zero.
func (s splitter) forkID(ctx context.Context, what split) (id string, made objstore.ID, err error) {
	const digits = 8
	hash := what.local.ID.String()
	for n := digits; n <= len(hash); n += digits {
		id = what.run + "-" + hash[:n]
		if len(id) > snapshot.MaxRunID {
			id = hash[:n]
		}
		free, tip, err := s.isFree(ctx, id)
		if err != nil || free {
			return id, objstore.ID{}, err
		}
		if tip.IsZero() {
			continue
		}
		entry, err := snapshot.ReadEntry(s.store.Objects(), tip)
		if err != nil {
			return "", objstore.ID{}, err
		}
		row, err := entry.RunRow()
		if err != nil {
			return "", objstore.ID{}, err
		}
		if p := row.Parent; p != nil && p.RunID == what.run && p.Extension == what.local.ID {
			return id, tip, nil
		}
	}
	return "", objstore.ID{}, fault.New(fault.RunExists, "run %q and every other id for the fork of run %q are taken", id, what.run)
}

// isFree reports whether a new run may have the id: no run has it, and no pruned run had it. It also returns the tip of
// the run that has the id, or the zero id if no run has it.
func (s splitter) isFree(ctx context.Context, id string) (bool, objstore.ID, error) {
	tip, err := refs.Tip(id)
	if err != nil {
		return false, objstore.ID{}, err
	}
	gone, err := refs.Gone(id)
	if err != nil {
		return false, objstore.ID{}, err
	}
	at, err := s.store.Refs().Resolve(ctx, tip)
	if !errors.Is(err, refs.ErrNotFound) {
		return false, at, err
	}
	_, err = s.store.Refs().Resolve(ctx, gone)
	if errors.Is(err, refs.ErrNotFound) {
		return true, objstore.ID{}, nil
	}
	return false, objstore.ID{}, err
}
