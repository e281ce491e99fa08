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

// outsideSubject is the subject of a frame with files that were changed by people and not by a task.
const outsideSubject = "files changed outside the run"

// waitedIdle reports whether the run waited since the last frame of this process while no task could change the
// shared files. Any change of the files is then a person's.
func (r *runner) waitedIdle() bool { return r.begun && r.waited && len(r.running.in("")) == 0 }

// commitOutside appends a separate frame if people changed the shared files while no task ran. The next frame then does
// not attribute the changes to a task. commitOutside returns the captures that the next frame must store. These are the
// captures in read, but without the shared working copy if the separate frame has the shared files.
//
// If the separate frame cannot be stored, commitOutside returns read and no error, because the next frame can store the
// files. But if another process has moved the tip, commitOutside returns the error of check or a conflict error.
// commitOutside resets r.waited.
func (r *runner) commitOutside(ctx context.Context, read captures, check func() error) (captures, error) {
	r.waited = false
	changed, err := r.changedOutside(read[""])
	if err != nil || !changed {
		return read, err
	}
	// The new number names the append of the separate frame; see tip.operation.
	r.tip.appends++
	err = r.tip.update(ctx, check, func() (snapshot.Draft, error) { return r.outsideFrame(captures{"": read[""]}) })
	switch {
	case errors.Is(err, errMoved) || fault.CodeOf(err) == fault.Conflict:
		return nil, err
	case err != nil:
		return read, nil //nolint:nilerr // the next frame stores the files, or reports the error
	}
	r.tip.accept()
	r.opts.report(r.rec.Row().Frame, outsideSubject, nil, r.nodes)
	rest := maps.Clone(read)
	delete(rest, "")
	return rest, nil
}

// outsideFrame returns the draft of a frame on the tip that changes only the files. The captured files are in read. The
// first frame of this process also records the revision in the run's row.
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

// changedOutside reports whether people changed the shared files. now is the capture of these files. People changed the
// files if now differs from the tip's files, and no attempt can have made the change, because the files were captured
// after every ended attempt. changedOutside also returns false in these cases:
//   - now is nil, or the run is new.
//   - A command runs in the shared files.
//   - The tip's files are unreadable or cannot be compared.
func (r *runner) changedOutside(now *jjbridge.CapturedFiles) (bool, error) {
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
