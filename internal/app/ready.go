package app

import (
	"context"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/notify"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ReadyWaits returns the waits of the run of head that can end at the time now: those that were approved, answered or signalled, and timers
// whose time has come. A resume goes on with the run. It returns nil if a process executes the run, here or elsewhere, or if git smithers has
// never run it. engine is the other engine that runs the run, or "".
func ReadyWaits(store *timeline.Store, head *timeline.Head, engine string, now time.Time) ([]mailbox.Waiting, error) {
	row := head.Row()
	if engine != "" || row.Epoch == 0 || !row.Status.Waiting() {
		return nil, nil
	}
	if owner := store.Owner(row); owner.Live || owner.Elsewhere {
		return nil, nil
	}
	waits, err := mailbox.WaitsOf(head, now)
	return slices.DeleteFunc(waits, func(w mailbox.Waiting) bool { return !w.Ready }), err
}

// ResumeCommand returns the command that continues the run of head. For a called run, the command resumes the caller.
func ResumeCommand(ctx context.Context, store *timeline.Store, head *timeline.Head) (string, error) {
	run := head.Row().ID
	caller, err := CalledBy(ctx, store, head.Row())
	if caller != nil {
		run = caller.Row().ID
	}
	return fault.CommandLine(fault.Program, "resume", run), err
}

// NotifyReady tells the user that the run of head can go on and that nobody executes it, with the command that resumes it. It tells nothing
// if the user was told before. A failure is a warning.
func (d *Desk) NotifyReady(ctx context.Context, head *timeline.Head) {
	if d.Courier == nil || !notify.Wanted(d.Store) {
		return
	}
	engine, err := ForeignEngine(head)
	if err != nil {
		d.Store.Warn(err)
		return
	}
	ready, err := ReadyWaits(d.Store, head, engine, d.Now())
	if err != nil {
		d.Store.Warn(err)
		return
	}
	if len(ready) > 0 {
		d.notify(ctx, head, notify.Ready)
	}
}
