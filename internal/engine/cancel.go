package engine

import (
	"context"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Cancel cancels a run that has not ended: it appends an entry with the status cancelled, the time at, and the name of
// the person who cancels the run, by, or "" if it is unknown. A process
// that executes the run notices the change within its Options.Watch, ends its commands and commits their results. The
// run is cancelled even if no process executes it. Run can continue a cancelled run.
//
// If the run is already cancelled, Cancel changes nothing and returns nil. If the run is finished or failed, the
// error's code is run_not_resumable.
func Cancel(ctx context.Context, rec Recorder, by string, at time.Time) error {
	by = strings.ToValidUTF8(by, "\uFFFD")
	for {
		row := rec.Row()
		if row.Status == snapshot.RunCancelled {
			return nil
		}
		if row.Status.Ended() {
			return fault.New(fault.RunNotResumable, "run %s is %s; there is nothing to cancel", row.ID, row.Status)
		}
		d := newDraft(row.ID, at)
		d.event("RunStatusChanged", payload{Status: string(snapshot.RunCancelled)})
		d.event("RunCancelled", payload{By: by})
		d.edit(func(row *snapshot.Run) { row.Status, row.FinishedAtMs = snapshot.RunCancelled, &d.atMs })
		verb := "cancelled"
		if by != "" {
			verb += " by " + by
		}
		d.sayAlone("run", verb)
		entry, err := d.snapshot()
		if err != nil {
			return err
		}
		entry.Frame = nil // a cancel changes no state, so the entry has no frame number
		err = rec.Append(ctx, entry)
		if err == nil || fault.CodeOf(err) != fault.Conflict {
			return err
		}
		// Another process has moved the tip: look at the new tip.
		if err := rec.Refresh(ctx); err != nil {
			return err
		}
	}
}
