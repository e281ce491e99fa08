package smithers

import (
	"context"
	"math"
	"reflect"

	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
)

// appendTail appends what has happened since the newest frame, and the run's row as it is now.
func (r *runPass) appendTail(ctx context.Context) error {
	draft := snapshot.Draft{Run: r.Ended, Limits: r.im.limits, Subject: "smithers: " + string(r.Ours.Status)}
	if err := r.addLastFiles(ctx, &draft); err != nil {
		return err
	}
	entry := r.series.Entry()
	state := stateOf(entry)
	had, err := signalNumbers(state)
	if err != nil {
		return err
	}
	var w snapshot.Whole
	r.box.fill(&w, tables.Never, had)
	if draft.Mailbox, err = mailChanges(state, &w); err != nil {
		return err
	}
	row, err := entry.RunRow()
	if err != nil {
		return err
	}
	draft.Events = r.eventsOf(r.Run, len(r.Events.All), r.line)
	draft.Journal = r.journal.changesTo(tables.Never, r.Attempts, r.attemptFiles(row.Frame))
	after := row
	r.Ended(&after)
	if len(draft.Mailbox)+len(draft.Events)+len(draft.Journal) == 0 && draft.VCS == nil && reflect.DeepEqual(row, after) {
		return nil
	}
	draft.AtMs = r.newest(entry.AtMs, draft.Events)
	return r.append(ctx, draft, len(r.Events.All))
}

// addLastFiles gives the last entry of a pass the files that attempts have left since the newest frame.
func (r *runPass) addLastFiles(ctx context.Context, draft *snapshot.Draft) error {
	if r.before == nil || r.files != nil {
		return nil
	}
	current, err := filesOf(r.series.Entry())
	if err != nil {
		return err
	}
	passing := r.Copies.Between(current, r.before, workcopy.Moment{AtMs: math.MaxInt64, Pointer: r.before.Pointer})
	for i, vcs := range passing {
		if i == len(passing)-1 {
			draft.VCS = &vcs
			break
		}
		if err := r.append(ctx, filesOnly(&vcs, r.series.Entry().AtMs, r.im.limits), r.behind); err != nil {
			return err
		}
	}
	return nil
}

// filesOnly is an entry that keeps files that an attempt left, and that the next one does not have.
func filesOnly(vcs *snapshot.VCS, atMs int64, limits snapshot.Limits) snapshot.Draft {
	return snapshot.Draft{VCS: vcs, AtMs: atMs, Subject: "files that an attempt left", Limits: limits}
}

// newest returns the time of the newest event, attempt or end of the run, but not before atMs.
func (r *runPass) newest(atMs int64, events []snapshot.Event) int64 {
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
