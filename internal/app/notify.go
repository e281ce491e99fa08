package app

import (
	"context"
	"fmt"
	"time"

	"github.com/git-smithers/git-smithers/internal/app/telemetry"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/notify"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Notify tells the user, with the command in smithers.notify, that the run of head waits, has failed or has ended. It
// tells nothing if the run goes on, or if the user was told before. A failure is a warning. See notify.Tell. It also sends the trace of a run that has
// ended to a collector.
func (d *Desk) Notify(ctx context.Context, head *timeline.Head) {
	d.sendTrace(head)
	row := head.Row()
	event := notify.EventOf(row.Status)
	if event == "" {
		return
	}
	if event != notify.Waits { // the end of a called run is no news while its caller goes on
		if caller, err := CalledBy(ctx, d.Store, row); err != nil || caller != nil {
			return
		}
	}
	d.notify(ctx, head, event)
}

// sendTrace hands the trace of the run of head to the collector if the run has ended. A failure is a warning.
func (d *Desk) sendTrace(head *timeline.Head) {
	if d.Collector == nil || !telemetry.HasEnded(head.Row().Status) {
		return
	}
	err := telemetry.EnqueueTrace(d.Store, head)
	if err == nil {
		err = d.Collector()
	}
	if err != nil {
		d.Store.Warn(fmt.Errorf("the trace of run %s was not sent: %w", head.Row().ID, err))
	}
}

// resendAfter is how long a supervisor leaves traces alone that a collector did not take.
const resendAfter = time.Minute

// sendWaiting hands the traces that wait to the collector, if there are any and they were not handed over just now. A failure is a warning.
func (v *supervisor) sendWaiting() {
	if v.Collector == nil || v.Now().Sub(v.sent) < resendAfter {
		return
	}
	waiting, err := telemetry.QueuedTraces(v.Store)
	if err == nil && len(waiting) > 0 {
		v.sent = v.Now()
		err = v.Collector()
	}
	if err != nil {
		v.Store.Warn(fmt.Errorf("the traces that wait were not sent: %w", err))
	}
}

// notify tells the user of the event of the run of head.
func (d *Desk) notify(ctx context.Context, head *timeline.Head, event notify.Event) {
	if d.Courier == nil || !notify.Wanted(d.Store) {
		return
	}
	n := notify.Of(head.Row(), event, d.Now().UnixMilli())
	n.Folder = d.workDir()
	if own, err := OwnWorktree(d.Store, head); err != nil {
		d.Store.Warn(err)
	} else if own != nil {
		n.Folder = *own
	}
	if event == notify.Ready {
		var err error
		if n.Command, err = ResumeCommand(ctx, d.Store, head); err != nil {
			d.Store.Warn(err)
			return
		}
	}
	if event == notify.Waits || event == notify.Ready {
		waits, err := mailbox.WaitsOf(head, d.Now())
		if err != nil {
			d.Store.Warn(err)
			return
		}
		for _, w := range waits {
			if event == notify.Ready && !w.Ready {
				continue
			}
			n.Waiting = append(n.Waiting, notify.Wait{
				NodeID: w.NodeID, Iteration: w.Iteration, Attempt: attemptOf(head, w), For: w.For, What: w.What, DueAtMs: w.DueAtMs, RequestID: w.RequestID,
			})
		}
		if len(n.Waiting) == 0 {
			return // only runs that it has called wait, and each of them tells the user
		}
	}
	notify.Tell(context.WithoutCancel(ctx), d.Store, d.Courier, n)
}

// attemptOf returns the number of the attempt that waits, or 0 if the node has none: another engine may count none.
func attemptOf(head *timeline.Head, w mailbox.Waiting) int {
	node, found, err := mailbox.ReadRow(head.State().Nodes(), snapshot.Key(w.NodeID, w.Iteration), snapshot.DecodeNode)
	if err != nil || !found || node.LastAttempt == nil {
		return 0
	}
	return *node.LastAttempt
}

// notifyOfWaits returns a function that receives the progress of the run of head. If this process stays while the run
// waits, nobody else would learn of the wait: the function tells the user as soon as no task works any more.
func (e *execution) notifyOfWaits(ctx context.Context, next func(engine.Progress)) func(engine.Progress) {
	if !e.Wait {
		return next
	}
	return func(p engine.Progress) {
		if next != nil {
			next(p)
		}
		if p.Running == 0 && p.Waiting > 0 {
			e.notify(ctx, e.head, notify.Waits)
		}
	}
}
