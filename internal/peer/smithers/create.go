package smithers

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// create begins the series of a run that the repository does not have, and sets r.series and r.entry. If the
// series cannot begin, notBegun explains the error.
//
// If the run is a fork and the repository has the parent's frame, the series begins at that frame. create then
// also sets r.parent, r.journal and r.ours.
//
// If the database has snapshots, create sets the layout of outputs from the newest snapshot. If the database
// has no snapshot 0, create appends the start entry.
func (r *runPass) create(ctx context.Context) error {
	forked, err := r.forkedFrom(ctx)
	if err != nil {
		return err
	}
	row := snapshot.Run{ID: r.ID, Parent: r.parent}
	begin := timeline.NewSeries
	if r.im.revives(r.ID) {
		begin = timeline.ReviveSeries
	}
	if r.series, err = begin(ctx, r.im.store, row, forked); err != nil {
		return r.im.notBegun(r.ID, err)
	}
	list.NoteHere(r.im.store, r.ID)
	r.entry = r.series.Entry()
	if forked != nil {
		if r.journal, err = readJournal(forked); err != nil {
			return err
		}
		if r.ours, err = treeOf(r.im.store, forked); err != nil {
			return err
		}
	}
	if len(r.Heads) > 0 {
		newest, err := r.Snapshot(r.Heads[len(r.Heads)-1].Frame)
		if err != nil {
			return err
		}
		if r.now.Layout, err = contents.LayoutOf(newest.Contents); err != nil {
			return inSnapshot(newest, err)
		}
		if r.Heads[0].Frame == 0 {
			return nil // snapshot 0 becomes the run's first entry
		}
	}
	return r.appendStart(ctx)
}

// forkedFrom returns the entry of the frame from which the run was forked, and sets r.parent. It returns nil and
// leaves r.parent unchanged if the run is not a fork, or if the repository does not have the parent or the frame.
func (r *runPass) forkedFrom(ctx context.Context) (*snapshot.Entry, error) {
	if r.Fork == nil {
		return nil, nil //nolint:nilnil // not a fork
	}
	head, err := r.im.store.Head(ctx, r.Fork.Parent)
	if fault.CodeOf(err) == fault.RunNotFound {
		return nil, nil //nolint:nilnil // the parent was pruned, or the database no longer has the parent
	}
	if err != nil {
		return nil, err
	}
	frames, err := stored.FramesOf(r.im.store, head.Entry())
	if err != nil {
		return nil, err
	}
	parent, err := stored.ReadPeer(head.Entry())
	if err != nil {
		return nil, err
	}
	at, ok := forkedAt(frames, parent, r.Fork)
	if !ok {
		return nil, nil //nolint:nilnil // the parent does not have the frame
	}
	entry := at.Entry
	if entry.Frame == snapshot.NoFrame { // frame 0 of an unchanged fork is a frame of the fork's own parent
		if entry, err = snapshot.ReadEntry(r.im.store.Objects(), head.Row().Parent.Commit); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	r.parent = &snapshot.Parent{
		RunID: r.Fork.Parent, Frame: at.Number, Commit: entry.ID,
		Label: r.Fork.Label, Description: r.Fork.Description, AtMs: r.Fork.AtMs,
	}
	return entry, nil
}

// forkedAt returns the frame from which the given fork was made. frames has the frames of the fork's parent,
// and numbers has Smithers' numbers of these frames. The returned frame has Smithers' number fork.FrameNo.
// After rewinds, several frames can have this number. forkedAt then takes the last such frame that is not newer
// than the fork, or else the first such frame. ok is false if no frame has the number.
func forkedAt(frames []stored.Frame, numbers *stored.Peer, fork *dbrun.Fork) (found stored.Frame, ok bool) {
	for _, f := range frames {
		if numbers.PeerNo(f.Number) == fork.FrameNo && (f.Entry.AtMs <= fork.AtMs || !ok) {
			found, ok = f, true
		}
	}
	return found, ok
}

// revives reports whether the import may import the run with the id run again after the run was pruned and
// collected. The request must ask for this with Revive, and must name the run.
func (im *importJob) revives(run string) bool {
	return im.req.Revive && slices.Contains(im.req.Runs, run)
}

// notBegun returns err with an error code and hints for the user. err is an error from beginning the series of
// the run with the id run. If the code is run_exists, another process has created the run, and the result is
// the error of errOvertaken. If the run was collected, the result is err with one hint: the command with
// --revive. Every other error stays unchanged.
func (im *importJob) notBegun(run string, err error) error {
	if fault.CodeOf(err) == fault.RunExists {
		return errOvertaken(run)
	}
	if pruned, ok := errors.AsType[*fault.Error](err); ok && pruned.Details["collected"] == true {
		pruned.Hints = []string{fmt.Sprintf(
			"`git smithers import %s --run %s --revive` imports the collected run again", fault.Word(im.path), fault.Word(run))}
	}
	return err
}

// appendStart appends the entry before the run's first snapshot. The entry has the events of the run's start.
//
// If r.parent is nil, the entry is frame 0. If the database has a snapshot, frame 0 also gets the input and the
// working copy of the first snapshot. If r.parent is set, the entry is not a frame and has no input, because the
// fork begins with its parent's frame.
//
// appendStart records that Smithers does not have frame 0.
func (r *runPass) appendStart(ctx context.Context) error {
	draft := snapshot.Draft{AtMs: r.Ours.CreatedAtMs, Subject: "run started", Run: r.During(""), Limits: r.im.limits}
	if r.parent == nil {
		draft.Frame = &snapshot.FrameDraft{Silent: true}
	}
	if len(r.Heads) > 0 && r.parent == nil {
		first, err := r.Snapshot(r.Heads[0].Frame)
		if err != nil {
			return err
		}
		w, err := contents.Read(first.Contents, "", r.im.limits)
		if err != nil {
			return inSnapshot(first, err)
		}
		if w.Input != nil {
			draft.Frame.State = []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: w.Input}}
		}
		pointer := dbrow.TextOf(first.Row, "vcs_pointer")
		draft.VCS, draft.Run = r.im.copies.At(r.Copies.Kind, pointer), r.During(pointer)
	}
	upTo := r.Events.UpTo(0, tables.NoNumber, r.Ours.CreatedAtMs)
	draft.Events = r.eventsOf(r.Run, upTo, nil)
	if err := r.append(ctx, draft, upTo); err != nil {
		return err
	}
	r.setFrameRow(0, stored.FrameRow{PeerNo: new(int64(tables.NoNumber))})
	return nil
}
