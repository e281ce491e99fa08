package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// finish ends a run in which no task is running and no task can start. If the run waits, and has not failed or been
// cancelled, finish parks the run. Otherwise finish commits the last frame of the failed, finished or cancelled run.
//
// The error is nil if the run finished. Otherwise its code is run_failed, run_cancelled or run_waiting, or the code
// of a failed commit. If unfinished tasks neither wait nor can start, the code is internal.
//
// over is true unless another process appended an entry to a run that was about to park. If over is false, the caller
// looks at the run again.
func (r *runner) finish(ctx context.Context) (over bool, err error) {
	if n := len(r.wf.Tasks); r.failure.text == "" && r.barren() {
		r.fail(nil, "", "", fmt.Sprintf("%d of %d variants failed", n, n))
	}
	status, kind, text := snapshot.RunFinished, "RunFinished", ""
	switch {
	case r.failure.text != "":
		status, kind, text = snapshot.RunFailed, "RunFailed", r.whyFailed()
	case r.complete(r.wf):
	case r.stopping:
		status, kind = snapshot.RunCancelled, "RunCancelled"
	case len(r.waiting(r.wf)) > 0 || len(r.parked) > 0:
		return r.park(ctx)
	default:
		return true, fault.New(fault.Internal, "run %s has unfinished tasks, but none of them can start", r.runID)
	}
	verb := string(status)
	if text != "" {
		verb += ": " + text
	}
	r.next.sayAlone("run", verb)
	r.next.event("RunStatusChanged", payload{Status: string(status)})
	// If another process has cancelled the run, its event says who did.
	interrupted := status == snapshot.RunCancelled && r.rec.Row().Status != snapshot.RunCancelled
	r.next.event(kind, payload{Error: text, Interrupted: interrupted})
	at := r.next.atMs
	r.next.edit(func(row *snapshot.Run) { row.Status, row.Error, row.FinishedAtMs, row.Owner = status, text, &at, "" })
	if err := r.commit(ctx); err != nil {
		return true, err
	}
	return true, r.ended(status, r.rec.Row().Error) // as the append stored it: without secrets
}

// barren reports whether the run is a sweep of which each variant has failed.
func (r *runner) barren() bool {
	return r.wf.Sweep && !slices.ContainsFunc(r.wf.Tasks, func(t *workflow.Task) bool { return r.nodes[r.newest(r.wf, t)].State != snapshot.NodeFailed })
}

// ended returns the run_failed or run_cancelled error for the status, or nil if the run finished. why is the reason
// of a failure.
func (r *runner) ended(status snapshot.RunStatus, why string) error {
	frame := r.rec.Row().Frame
	switch status {
	case snapshot.RunFailed:
		out := fault.New(fault.RunFailed, "run %s failed: %s", r.runID, why).
			Detail("runId", r.runID).Detail("frame", frame).Detail(DetailFailed, r.failedTasks())
		for _, hint := range r.failureHints() {
			out = out.Hint("%s", hint)
		}
		return out
	case snapshot.RunCancelled:
		return fault.New(fault.RunCancelled, "run %s is cancelled at frame %d", r.runID, frame).
			Hint("`git smithers resume %s` continues the run from that frame", fault.Word(r.runID)).
			Detail("runId", r.runID).Detail("frame", frame)
	default:
		return nil
	}
}

// DetailFailed is the detail of run_failed with the tasks that failed, as []FailedTask.
const DetailFailed = "failed"

// A FailedTask is a task that failed its run, in an error.
type FailedTask struct {
	Name  string   `json:"name"`  // the id of the task and, in a loop, the iteration
	Error string   `json:"error"` // begins with the name
	Log   []string `json:"log"`   // the last lines that its last attempt printed, without secrets; at most ten, each cut at 2,000 bytes
}

// failedTasks returns the tasks and loops that failed the run, in the order in which they failed.
func (r *runner) failedTasks() []FailedTask {
	const most, longest = 10, 2000 // lines, and bytes of a line
	all := make([]FailedTask, 0, len(r.failures))
	for _, f := range r.failures {
		log := []string{}
		if text := strings.TrimRight(r.opts.masked(f.log), " \t\r\n"); text != "" {
			log = strings.Split(text, "\n")
		}
		log = slices.Clone(log[max(0, len(log)-most):])
		for i := range log {
			log[i] = plain.Cut(log[i], longest)
		}
		all = append(all, FailedTask{f.name, r.opts.masked(f.text), log})
	}
	return all
}

// TryAgain returns the hint to retry the failed tasks of a run.
func TryAgain(run string) string {
	return fmt.Sprintf("`git smithers resume %s` retries the failed tasks", fault.Word(run))
}

// AskAgain returns the hint for a run that failed because a person denied an approval.
func AskAgain(run string) string {
	return fmt.Sprintf("`git smithers resume %s` asks for the approval again", fault.Word(run))
}

// failureHints returns the hints after a failure: resume, and the logs of failed commands. If no command failed, there is no hint
// about a log.
func (r *runner) failureHints() []string {
	const most = 3
	if r.failure.denied {
		return []string{AskAgain(r.runID)}
	}
	hints := []string{TryAgain(r.runID)}
	for _, f := range r.failures {
		if f.task == nil || f.task.Run == "" {
			continue
		}
		if len(hints) > most {
			break
		}
		which := "the task's log"
		if len(r.failures) > 1 {
			which = "the log of " + f.name
		}
		hints = append(hints, fmt.Sprintf("`git smithers logs %s %s` shows %s", fault.Word(r.runID), fault.Word(f.node), which))
	}
	return hints
}

// kindsOfWaits maps the kinds of waits to words and to run statuses. If a run waits for several kinds, the first of
// them in this list determines the run's status.
var kindsOfWaits = []struct {
	kind   string // Waiting.For
	status snapshot.RunStatus
	what   string
}{
	{"approval", snapshot.RunWaitingApproval, "approval"},
	{"human", snapshot.RunWaitingHuman, "an answer"},
	{"signal", snapshot.RunWaitingEvent, "a signal"},
	{"timer", snapshot.RunWaitingTimer, "a timer"},
}

// park commits a frame that makes the run wait and releases the run. It returns true and the run_waiting error. If
// the run already waits and nothing changed, park commits no frame, but returns true and the run_waiting error, too.
// If another process moves the tip first, park does not commit the frame and returns false and nil, because the
// mailbox may have changed.
func (r *runner) park(ctx context.Context) (over bool, err error) {
	waits, err := mailbox.WaitsOf(r.rec, r.opts.Now())
	if err != nil {
		return true, err
	}
	status, phrase := phraseOf(r.wf, waits, r.parkedCalls())
	if !r.begun && !r.next.said() && r.tip.status == status {
		return true, waitsFor(r.rec, r.wf, waits, r.parkedCalls())
	}
	before := *r.next // without the changes below, which are dropped if the tip moves
	r.next.sayAlone("run", "waits for "+phrase)
	r.next.event("RunStatusChanged", payload{Status: string(status)})
	r.next.edit(func(row *snapshot.Run) { row.Status, row.Owner = status, "" })
	err = r.commitIf(ctx, func() error {
		if err := r.checkTip(); err != nil {
			return err
		}
		return errMoved // the mailbox may have changed, so look again
	})
	if errors.Is(err, errMoved) {
		r.next = &before
		return false, nil
	}
	if err != nil {
		return true, err
	}
	return true, waitsFor(r.rec, r.wf, waits, r.parkedCalls())
}

// phraseOf returns the waits of a run in words, such as "approval (review), a timer (pause)". It also returns the
// status of the run while it waits. If the run waits for things of several kinds, the first of these kinds in
// kindsOfWaits determines the status. calls are called runs that wait; they determine the status if waits is empty. Both results are "" if both are
// empty.
func phraseOf(wf *workflow.Workflow, waits []mailbox.Waiting, calls []parkedCall) (status snapshot.RunStatus, phrase string) {
	var what []string
	for _, k := range kindsOfWaits {
		var names []string
		for _, w := range waits {
			if w.For == k.kind {
				names = append(names, workflow.NodeKey{ID: w.NodeID, Iteration: w.Iteration}.Name(wf.Task(w.NodeID)))
			}
		}
		if len(names) == 0 {
			continue
		}
		if status == "" {
			status = k.status
		}
		what = append(what, k.what+" ("+strings.Join(names, ", ")+")")
	}
	for _, p := range calls {
		what = append(what, "run "+p.run+", which waits for "+p.waits)
		status = cmp.Or(status, p.status)
	}
	return status, strings.Join(what, ", ")
}

// waitsFor returns the run_waiting error. The error has a hint for each wait and each called run that waits, and a last hint that continues the
// run.
func waitsFor(rec Recorder, wf *workflow.Workflow, waits []mailbox.Waiting, calls []parkedCall) error {
	row := rec.Row()
	_, phrase := phraseOf(wf, waits, calls)
	out := fault.New(fault.RunWaiting, "run %s waits for %s", row.ID, phrase).
		Detail("runId", row.ID).Detail("frame", row.Frame).Detail("waiting", waits)
	for _, w := range waits {
		out = out.Hint("%s", w.Hint(row.ID))
	}
	for _, p := range calls {
		for _, hint := range p.hints {
			out = out.Hint("%s", hint)
		}
	}
	return out.Hint("then `git smithers resume %s` continues the run", fault.Word(row.ID))
}
