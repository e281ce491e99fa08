package smithers

import (
	"context"
	"math"
	"reflect"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// appendTail appends one entry with the changes that Smithers stored after the newest frame: events, attempts, files,
// mail and the run's row. If nothing has changed since the newest entry, it appends nothing.
func (r *runPass) appendTail(ctx context.Context) error {
	draft := snapshot.Draft{Run: r.Ended, Limits: r.im.limits, Subject: "smithers: " + string(r.Ours.Status)}
	passing, err := r.addLastFiles(&draft)
	if err != nil {
		return err
	}
	if err := r.addLastState(&draft); err != nil {
		return err
	}
	row, err := r.entry.RunRow()
	if err != nil {
		return err
	}
	upTo := len(r.Events.All)
	draft.Events = r.eventsOf(r.Run, upTo, nil)
	r.addAttempts(&draft, tables.Never, row.Frame, r.files)
	after := row
	r.Ended(&after)
	if draft.Frame == nil && len(draft.Mailbox)+len(draft.Events)+len(draft.Journal) == 0 && draft.VCS == nil && reflect.DeepEqual(row, after) {
		return nil // nothing has changed since the newest entry
	}
	draft.AtMs = r.newest(draft.Events)
	if err := r.appendAll(ctx, append(passing, draft), upTo); err != nil || draft.Frame == nil {
		return err
	}
	r.out.Frames++
	r.setFrameRow(r.entry.Frame, stored.FrameRow{PeerNo: new(int64(tables.NoNumber))})
	return nil
}

// addLastState sets the mailbox of draft to the present one. For a run without snapshots, whose tables say what its state
// is, draft becomes a frame with this state.
func (r *runPass) addLastState(draft *snapshot.Draft) error {
	state := stateOf(r.entry)
	had, err := signalNumbers(state)
	if err != nil {
		return err
	}
	var w snapshot.Whole
	if len(r.Heads) == 0 {
		w = r.Imported(r.im.limits)
	}
	r.box.fill(&w, tables.Never, had)
	if w.Nodes != nil { // a run without snapshots has one frame with what its tables say
		changes, err := snapshot.ChangesTo(state, w)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(changes, ofCore) {
			draft.Frame, draft.Subject = &snapshot.FrameDraft{State: changes, Silent: true}, "as imported"
			return nil
		}
	}
	draft.Mailbox, err = mailChanges(state, &w)
	return err
}

// addLastFiles sets the working copy of draft to the newest files that attempts left since the newest frame of the line. If
// attempts left files several times, it returns an entry for each earlier time. It does nothing if no frame is stored or
// read, or if the pass captured the files of the newest frame.
func (r *runPass) addLastFiles(draft *snapshot.Draft) (passing []snapshot.Draft, err error) {
	if r.before == nil || r.files != nil {
		return nil, nil
	}
	current, err := filesOf(r.entry)
	if err != nil {
		return nil, err
	}
	all := r.Copies.Between(current, r.before, workcopy.Moment{AtMs: math.MaxInt64, Pointer: r.before.Pointer})
	for i, vcs := range all {
		if i == len(all)-1 {
			draft.VCS = &vcs
			break
		}
		passing = append(passing, r.filesOnly(&vcs, r.entry.AtMs))
	}
	return passing, nil
}

// newest returns the time of the entry that appendTail appends: the latest of the newest entry's time, the times of events,
// and the ends of the attempts in the line's journal. In a new run that already has an entry, the end of the run counts
// too.
func (r *runPass) newest(events []snapshot.Event) int64 {
	atMs := r.entry.AtMs
	for _, e := range events {
		atMs = max(atMs, e.AtMs)
	}
	for _, a := range r.journal.attempts {
		if a.FinishedAtMs != nil {
			atMs = max(atMs, *a.FinishedAtMs)
		}
	}
	if r.Ours.FinishedAtMs != nil && r.head == nil && r.opened {
		atMs = max(atMs, *r.Ours.FinishedAtMs)
	}
	return atMs
}
