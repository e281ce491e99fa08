package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// errMoved means that the tip has moved and the frame must not be rebuilt, because the run must look at the new tip
// first.
var errMoved = errors.New("the tip has moved")

// commit appends r.next as one frame, with captures of the working copies that may have changed, and begins a new
// r.next. If people changed the shared files while no task ran, commit appends these changes before, as a frame of
// their own.
//
// If the captures cannot be stored, commit warns and appends the frame without captures. The end of ctx does not stop
// the append, because past changes must be recorded. If another process has taken over the run, the error's code is
// conflict.
func (r *runner) commit(ctx context.Context) error { return r.commitIf(ctx, r.checkTip) }

// commitIf appends r.next like commit. Each time another process has moved the tip before the append, commitIf calls
// check. If check returns an error, commitIf returns this error and does not append r.next.
func (r *runner) commitIf(ctx context.Context, check func() error) error {
	read := r.files.capture(ctx, r.toCapture(), r.stopping)
	defer read.close(r.opts.Warn)
	if r.tip.isLost() {
		return r.tip.takenOver()
	}
	if !r.begun { // the files may have changed since the run's last process
		r.files.compare(read[""])
	}
	ctx = context.WithoutCancel(ctx)
	kept, err := r.commitOutside(ctx, read, check)
	if err != nil {
		return err
	}
	// The new number names the append of r.next; see tip.operation.
	r.tip.appends++
	add := func(read captures) error {
		return r.tip.update(ctx, check, func() (snapshot.Draft, error) { return r.frame(read) })
	}
	err = add(kept)
	// If the captures cannot be stored, the changes of state must be stored without them.
	if err != nil && kept.any() && !errors.Is(err, errMoved) && fault.CodeOf(err) != fault.Conflict {
		cause := err
		if err = add(nil); err == nil {
			r.opts.Warn(fmt.Errorf("the working copy could not be stored with frame %d: %w", r.rec.Row().Frame, cause))
		}
	}
	if err != nil {
		return err
	}
	r.forgetLogs()
	row, said := r.rec.Row(), r.next
	r.tip.accept()
	r.begun = true
	r.next = newDraft(r.runID, r.opts.Now())
	r.read = read.revisions()
	r.keepResults(ctx, said.results)
	r.launchScorers(said.scorings)
	r.opts.report(row.Frame, said.subject(), said.steps, r.nodes)
	return nil
}

// toCapture returns the names of the working copies to capture for the next frame. "" is the shared working copy.
//   - The result has the working copies of the attempts in r.next.ended, except those of tasks that change no files.
//     Before the first frame of this process, toCapture omits the tasks' own worktrees, because they are not open yet.
//   - The result has "" after an idle wait.
//   - The result has the working copies of the starting attempts that look for a result in the cache.
//   - The result has "" for the first frame of this process, unless Options.Captured is set.
func (r *runner) toCapture() map[string]bool {
	due := make(map[string]bool)
	if !r.begun && !r.opts.Captured || r.waitedIdle() {
		due[""] = true
	}
	for name := range r.next.starting {
		due[name] = true
	}
	for _, a := range r.next.ended {
		if (r.begun || a.Worktree == "") && r.wf.Task(a.NodeID).ChangesFiles() { // an interrupted attempt's own worktree is not open yet
			due[a.Worktree] = true
		}
	}
	return due
}

// forgetLogs removes the live logs of the attempts in r.next.ended. It is called after the frame of these attempts is
// appended. After the first frame of this process, forgetLogs removes all live logs, because earlier processes left
// these logs. Without Options.Logs, it does nothing.
func (r *runner) forgetLogs() {
	if r.opts.Logs == nil {
		return
	}
	if !r.begun {
		r.opts.Logs.Clear()
		return
	}
	for _, a := range r.next.ended {
		r.opts.Logs.Remove(keyOf(a))
	}
}

// maxSubject is the maximum length of the line about a frame in bytes.
const maxSubject = 160

// report passes a committed frame to Options.Progress, if that is set, without the secrets in its texts. nodes holds all nodes of
// the run, which report counts by state.
func (o *Options) report(frame int64, subject string, steps []Step, nodes map[workflow.NodeKey]snapshot.Node) {
	if o.Progress == nil {
		return
	}
	p := Progress{Frame: frame, Subject: plain.Cut(o.masked(subject), maxSubject), Nodes: len(nodes), Steps: slices.Clone(steps)}
	for i := range p.Steps {
		p.Steps[i].What = o.masked(p.Steps[i].What)
	}
	for _, n := range nodes {
		switch n.State {
		case snapshot.NodeInProgress:
			p.Running++
		case snapshot.NodeFinished:
			p.Finished++
		case snapshot.NodeFailed:
			p.Failed++
		case snapshot.NodeSkipped:
			p.Skipped++
		case snapshot.NodeWaitingApproval, snapshot.NodeWaitingHuman, snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
			p.Waiting++
		case snapshot.NodePending, snapshot.NodeCancelled:
		}
	}
	o.Progress(p)
}

// masked returns text without its secrets.
func (o *Options) masked(text string) string {
	if o.Secrets == nil {
		return text
	}
	out, _ := o.Secrets.Mask([]byte(text)) // the text has no secrets even where their numbers cannot be recorded
	return string(out)
}
