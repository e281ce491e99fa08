package engine

import (
	"context"
	"errors"
	"maps"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// outsideSubject is the subject of a frame whose files were changed by somebody who is no task.
const outsideSubject = "files changed outside the run"

// waitedIdle reports whether the run has waited in this process while nothing ran that could
// change the shared files: people may have.
func (r *runner) waitedIdle() bool { return r.begun && r.waited && len(r.runningIn("")) == 0 }

// commitOutside appends a frame of its own with what people changed while no task ran, so that
// the frame after it is not blamed for that. It returns the copies that the frame after it keeps.
func (r *runner) commitOutside(ctx context.Context, read captures, still func() error) (captures, error) {
	waited := r.waitedIdle()
	r.waited = false
	changed, err := r.changedOutside(read[""])
	if err != nil || !changed && !waited {
		return read, err
	}
	rest := maps.Clone(read)
	delete(rest, "")
	if !changed {
		return rest, nil
	}
	r.appends++
	err = r.update(ctx, still, func() (snapshot.Draft, error) { return r.outsideFrame(captures{"": read[""]}) })
	switch {
	case errors.Is(err, errMoved) || fault.CodeOf(err) == fault.Conflict:
		return nil, err
	case err != nil:
		return read, nil //nolint:nilerr // the frame after it stores the files, or says why it cannot
	}
	row := r.rec.Row()
	r.state, r.status = r.rec.State(), row.Status
	r.report(row.Frame, outsideSubject, nil)
	return rest, nil
}

// outsideFrame is a frame on the tip with the files that were read, and nothing else.
func (r *runner) outsideFrame(read captures) (snapshot.Draft, error) {
	before, err := r.rec.Entry().VCSRevision()
	if err != nil {
		return snapshot.Draft{}, timeline.Explain(err)
	}
	d := snapshot.Draft{
		Frame: true, Subject: outsideSubject, AtMs: r.next.atMs, Operation: r.operation(),
		VCS: read.vcs(before, nil, r.wf), Objects: read.objects,
	}
	if !r.begun {
		d.Run = read.startsAt
	}
	return d, nil
}

// changedOutside reports whether the files that were read differ from those of the tip, and no
// attempt can have changed them: each that has ended was captured.
func (r *runner) changedOutside(now *jjbridge.Captured) (bool, error) {
	if now == nil || !r.begun && !r.resumed || len(r.runningIn("")) > 0 {
		return false, nil
	}
	before, err := r.rec.Entry().VCSRevision()
	if err != nil || before == nil || !otherFiles(*before, now.VCS) {
		return false, nil //nolint:nilerr // damage is the next frame's trouble
	}
	for _, a := range r.next.ended {
		if a.Worktree == "" {
			return false, nil
		}
	}
	for _, key := range r.keys() {
		if captured, err := r.lastIsCaptured(key); err != nil || !captured {
			return false, err
		}
	}
	return true, nil
}

// lastIsCaptured reports whether the files were read when the node's last attempt in them ended.
func (r *runner) lastIsCaptured(key nodeKey) (bool, error) {
	n, t := r.nodes[key], r.wf.tasks[key.id]
	if n.LastAttempt == nil || t == nil || t.Run == "" || t.Worktree != nil {
		return true, nil
	}
	for number := *n.LastAttempt; number > 0; number-- {
		a, ok, err := r.pastAttempt(key, number)
		if err != nil || ok {
			return a.Frame != nil || a.FinishedAtMs == nil, err
		}
	}
	return true, nil
}
