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

// outsideSubject is the subject of a frame with files that no task changed.
const outsideSubject = "files changed outside the run"

// waitedIdle reports whether the run waited in this process while no task could change the
// shared files, so that any change is a person's.
func (r *runner) waitedIdle() bool { return r.begun && r.waited && len(r.running.in("")) == 0 }

// commitOutside appends a separate frame with the changes that people made while no task ran, so
// that the next frame does not attribute them to a task. It returns the captures for the next frame.
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
	r.tip.appends++
	err = r.tip.update(ctx, still, func() (snapshot.Draft, error) { return r.outsideFrame(captures{"": read[""]}) })
	switch {
	case errors.Is(err, errMoved) || fault.CodeOf(err) == fault.Conflict:
		return nil, err
	case err != nil:
		return read, nil //nolint:nilerr // the next frame stores the files, or reports the error
	}
	r.tip.accept()
	r.opts.report(r.rec.Row().Frame, outsideSubject, nil, r.nodes)
	return rest, nil
}

// outsideFrame returns a frame on the tip with the captured files, and no other change.
func (r *runner) outsideFrame(read captures) (snapshot.Draft, error) {
	before, err := r.rec.Entry().VCSRevision()
	if err != nil {
		return snapshot.Draft{}, timeline.Explain(err)
	}
	d := snapshot.Draft{
		Frame: &snapshot.FrameDraft{}, Subject: outsideSubject, AtMs: r.next.atMs, Operation: r.tip.operation(),
		VCS: read.vcs(before, nil, r.wf), Objects: read.objects,
	}
	if !r.begun {
		d.Run = read.startsAt
	}
	return d, nil
}

// changedOutside reports whether the captured files differ from the tip's and no attempt can have
// changed them, because every ended attempt was captured.
func (r *runner) changedOutside(now *jjbridge.Captured) (bool, error) {
	if now == nil || !r.begun && !r.resumed || len(r.running.in("")) > 0 {
		return false, nil
	}
	before, err := r.rec.Entry().VCSRevision()
	if err != nil || before == nil || !otherFiles(*before, now.VCS) {
		return false, nil //nolint:nilerr // the next frame reports the damage
	}
	for _, a := range r.next.ended {
		if a.Worktree == "" {
			return false, nil
		}
	}
	for _, key := range r.keys() {
		if captured, err := r.journal.lastIsCaptured(r.nodes[key], r.wf.Task(key.ID)); err != nil || !captured {
			return false, err
		}
	}
	return true, nil
}
