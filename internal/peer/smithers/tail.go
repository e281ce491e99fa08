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
	step, err := r.drafter().tail(r.runLine)
	if err != nil || step == nil {
		return err
	}
	if err := r.take(ctx, step); err != nil || step.draft.Frame == nil {
		return err
	}
	r.out.Frames++
	r.setFrameRow(r.entry.Frame, stored.FrameRow{PeerNo: new(int64(tables.NoNumber))})
	return nil
}

// tail returns the step that appends the changes after the newest frame of line: events, attempts, files, mail and the
// run's present row. If nothing has changed since the newest entry, it returns nil.
func (d *drafter) tail(line *runLine) (*lineStep, error) {
	step := &lineStep{
		draft: snapshot.Draft{Run: d.peer.Ended, Limits: d.limits, Subject: "smithers: " + string(d.peer.Ours.Status)},
		upTo:  len(d.peer.Events.All),
	}
	if err := d.addLastFiles(line, step); err != nil {
		return nil, err
	}
	state := stateOf(line.entry)
	had, err := signalNumbers(state)
	if err != nil {
		return nil, err
	}
	var w snapshot.Whole
	if len(d.peer.Heads) == 0 {
		w = d.peer.Imported(d.limits)
	}
	d.box.fill(&w, tables.Never, had)
	if w.Nodes != nil { // a run without snapshots has one frame with what its tables say
		changes, err := snapshot.ChangesTo(state, w)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changes, ofCore) {
			step.draft.Frame, step.draft.Subject = &snapshot.FrameDraft{State: changes, Silent: true}, "as imported"
		}
	}
	if step.draft.Frame == nil {
		if step.draft.Mailbox, err = mailChanges(state, &w); err != nil {
			return nil, err
		}
	}
	row, err := line.entry.RunRow()
	if err != nil {
		return nil, err
	}
	step.draft.Events = line.eventsOf(d.peer, step.upTo, nil)
	d.addAttempts(line, step, tables.Never, d.attemptFiles(line, row.Frame, line.files))
	after := row
	d.peer.Ended(&after)
	if step.draft.Frame == nil && len(step.draft.Mailbox)+len(step.draft.Events)+len(step.draft.Journal) == 0 && step.draft.VCS == nil && reflect.DeepEqual(row, after) {
		return nil, nil //nolint:nilnil // nothing has changed since the newest entry
	}
	step.draft.AtMs = d.newest(line, step.draft.Events)
	return step, nil
}

// addLastFiles sets the working copy of step to the newest files that attempts left since the newest frame of line. If
// attempts left files several times, addLastFiles adds an entry for each earlier time to step.passing. It does nothing
// if no frame is stored or read, or if the pass captured the files of the newest frame.
func (d *drafter) addLastFiles(line *runLine, step *lineStep) error {
	if line.before == nil || line.files != nil {
		return nil
	}
	current, err := filesOf(line.entry)
	if err != nil {
		return err
	}
	passing := d.peer.Copies.Between(current, line.before, workcopy.Moment{AtMs: math.MaxInt64, Pointer: line.before.Pointer})
	for i, vcs := range passing {
		if i == len(passing)-1 {
			step.draft.VCS = &vcs
			break
		}
		step.passing = append(step.passing, d.filesOnly(&vcs, line.entry.AtMs))
	}
	return nil
}

// newest returns the time of the entry that tail drafts: the latest of the newest entry's time, the times of events,
// and the ends of the attempts in the line's journal. In a new run that already has an entry, the end of the run counts
// too.
func (d *drafter) newest(line *runLine, events []snapshot.Event) int64 {
	atMs := line.entry.AtMs
	for _, e := range events {
		atMs = max(atMs, e.AtMs)
	}
	for _, a := range line.journal.attempts {
		if a.FinishedAtMs != nil {
			atMs = max(atMs, *a.FinishedAtMs)
		}
	}
	if d.peer.Ours.FinishedAtMs != nil && d.isNew && line.opened {
		atMs = max(atMs, *d.peer.Ours.FinishedAtMs)
	}
	return atMs
}
