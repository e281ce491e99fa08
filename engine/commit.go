package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// errMoved means that the tip has moved and the frame must not be rebuilt: the run has to
// look at the new tip first.
var errMoved = errors.New("the tip has moved")

// commit appends the draft as one frame, with the working copy if it may have changed. A
// cancel does not interrupt it, because what happened must be recorded. If a capture cannot be
// stored, the frame is appended without it.
func (r *runner) commit(ctx context.Context) error { return r.commitIf(ctx, r.checkTip) }

// commitIf is commit, and calls still each time another process moved the tip first. An error of
// still gives the frame up.
func (r *runner) commitIf(ctx context.Context, still func() error) error {
	read := r.capture(ctx)
	defer read.close(r.opts.Warn)
	if r.isLost() {
		return r.takenOver()
	}
	r.compare(read[""])
	ctx = context.WithoutCancel(ctx)
	kept, err := r.commitOutside(ctx, read, still)
	if err != nil {
		return err
	}
	r.appends++
	err = r.appendFrame(ctx, kept, still)
	if err != nil && kept.any() && !errors.Is(err, errMoved) && fault.CodeOf(err) != fault.Conflict {
		cause := err
		if err = r.appendFrame(ctx, nil, still); err == nil {
			r.opts.Warn(fmt.Errorf("the working copy could not be stored with frame %d: %w", r.rec.Row().Frame, cause))
		}
	}
	if err != nil {
		return err
	}
	r.forgetLogs()
	row, said := r.rec.Row(), r.next
	r.begun, r.state, r.status = true, r.rec.State(), row.Status
	r.next = newDraft(r.runID, r.opts.Now())
	r.report(row.Frame, said.subject(), said.steps)
	return nil
}

// appendFrame appends the draft with the captures.
func (r *runner) appendFrame(ctx context.Context, read captures, still func() error) error {
	return r.update(ctx, still, func() (snapshot.Draft, error) { return r.frame(read) })
}

// update appends a frame and rebuilds it as long as other processes append first. A stream of
// incoming signals must not stop the run.
func (r *runner) update(ctx context.Context, still func() error, build func() (snapshot.Draft, error)) error {
	first := true
	return r.rec.Update(ctx, func() (*snapshot.Draft, error) {
		if !first {
			if err := still(); err != nil {
				return nil, err
			}
		}
		first = false
		d, err := build()
		return &d, err
	})
}

// forgetLogs removes the live logs of the attempts that ended with the last frame; after the
// first frame, those of all earlier processes.
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

// report passes a committed frame to Options.Progress.
func (r *runner) report(frame int64, subject string, steps []Step) {
	if r.opts.Progress == nil {
		return
	}
	p := Progress{Frame: frame, Subject: subject, Nodes: len(r.nodes), Steps: steps}
	for _, n := range r.nodes {
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
	r.opts.Progress(p)
}
