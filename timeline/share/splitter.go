package share

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/claim"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// split is a run that was continued both here and at a remote.
type split struct {
	run    string
	local  *snapshot.Entry // the tip here
	remote *snapshot.Entry // the tip there, already checked
	common objstore.ID     // the newest common entry
}

// splitter makes forks of histories that are also elsewhere.
type splitter struct{ store *timeline.Store }

// splitOff makes a fork of the local continuation of a run, and moves the run's tip and frames to
// the remote's. The fork's id is derived from the run's id and the local tip, so that an interrupted
// split can be continued. The run's tip moves last, except for its new frames; a crash before
// that loses at most frame refs that the run will not keep. If a live process here owns the run,
// the error's code is run_owned; if the tip has moved in the meantime, it is conflict. In both cases
// the run is unchanged.
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
	claim.HandOver(context.WithoutCancel(ctx), s.store, what.run, id)
	code.HandOver(s.store, what.run, id)
	return id, nil
}

// adoptAs makes a run with another id from the checked history of a tip. The new run is a fork
// whose frame 0 is the first frame of that history and whose frames are its commits. The error's code is
// run_exists if the id is taken, run_pruned if a run of that id was pruned.
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
	if parent.Commit == tip.ID {
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
	if fault.CodeOf(err) == fault.Conflict {
		return fault.New(fault.RunExists, "run %q exists already", id).Hint("choose another id").Detail("runId", id)
	}
	return err
}

// parentOf returns the fork's parent: the newest common frame.
func (s splitter) parentOf(what split, row snapshot.Run) (*snapshot.Parent, error) {
	both := false
	found, err := s.frameAt(what.local, func(e *snapshot.Entry) bool {
		both = both || e.ID == what.common
		return both && e.Frame != snapshot.NoFrame
	})
	if err != nil {
		return nil, err
	}
	if !both {
		return nil, fmt.Errorf("%v is no entry of run %q", what.common, row.ID)
	}
	return &snapshot.Parent{RunID: row.ID, Frame: found.Frame, Commit: found.ID, Extension: what.local.ID}, nil
}

// frameAt returns the newest accepted frame of a tip's run. If none is accepted, it is frame 0 of a
// fork, which is its parent's.
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
		err = &objstore.CorruptError{ID: tip.ID, Reason: "entry: its run has no frame 0"}
	}
	if err != nil {
		return refs.FrameRef{}, err
	}
	return refs.FrameRef{Frame: 0, ID: row.Parent.Commit}, nil
}

// forkID returns the fork's id, and its tip if an interrupted fetch has made the fork already. An id that
// is or was taken gets more digits.
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

// isFree reports whether no run has or had an id. If a run has it, isFree returns its tip.
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
