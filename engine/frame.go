package engine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// frame returns the draft as a frame on the newest known tip, with the captures. It may be
// called again after the tip has moved.
func (r *runner) frame(read captures) (snapshot.Draft, error) {
	d, err := r.next.snapshot()
	if err != nil {
		return d, err
	}
	d.Operation = r.operation()
	d.Journal = append(slices.Clip(d.Journal), r.endedRows(read, r.rec.Row().Frame+1)...)
	if read.any() {
		before, err := r.rec.Entry().VCSRevision()
		if err != nil {
			return d, timeline.Explain(err)
		}
		d.VCS, d.Objects = read.vcs(before, r.runningIn(""), r.wf), read.objects
	}
	if !r.begun {
		edit := d.Run
		d.Run = func(row *snapshot.Run) {
			edit(row)
			read.startsAt(row)
		}
	}
	return d, nil
}

// operation returns the name of the next append.
func (r *runner) operation() string {
	return strconv.FormatInt(r.epoch, 10) + "." + strconv.Itoa(r.appends)
}

// startsAt records in the run's row the revision at which its process started, if it was captured.
func (c captures) startsAt(row *snapshot.Run) {
	if shared := c[""]; shared != nil {
		row.VCSType, row.VCSRoot, row.VCSRevision = shared.VCS.Type, shared.VCS.Root, shared.VCS.Pointer()
	}
}

// endedRows returns the journal rows of the attempts that ended, each with a pointer to its files at
// frame. An attempt whose working copy was not captured has no pointer.
func (r *runner) endedRows(read captures, frame int64) []snapshot.Change {
	rows := make([]snapshot.Change, 0, len(r.next.ended))
	for _, a := range r.next.ended {
		if got := read[a.Worktree]; got != nil {
			a.CommitID, a.Tree, a.Frame = got.VCS.CommitID, got.VCS.Tree, &frame
			a.Beside = r.beside(a)
		}
		rows = append(rows, attemptChange(a))
	}
	return rows
}

// beside returns the other attempts that shared the files of an ended attempt: those still
// running, and those that ended with the same frame.
func (r *runner) beside(a snapshot.Attempt) []string {
	keys := r.runningIn(a.Worktree)
	for _, other := range r.next.ended {
		if other.Worktree == a.Worktree && keyOf(other) != keyOf(a) {
			keys = append(keys, keyOf(other))
		}
	}
	slices.Sort(keys)
	return keys
}

// runningIn returns the keys of the attempts whose commands run in a working copy, sorted.
func (r *runner) runningIn(name string) []string {
	var keys []string
	for _, a := range r.running {
		if a.launched && a.Worktree == name {
			keys = append(keys, keyOf(a.Attempt))
		}
	}
	slices.Sort(keys)
	return keys
}

func keyOf(a snapshot.Attempt) string { return snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt) }

// compare warns if a run continues with other code than its newest frame has, or if a fork begins with other code.
func (r *runner) compare(now *jjbridge.Captured) {
	row := r.rec.Row()
	if now == nil || r.begun || !r.resumed && row.Parent == nil {
		return
	}
	before, err := r.rec.Entry().VCSRevision()
	if err != nil || before == nil { // the frame reports the damage
		return
	}
	if theirs, err := r.fillsShared(); err != nil || !theirs {
		return
	}
	then := newest{vcs: *before, frame: timeline.Address{Run: row.ID, Frame: row.Frame}, bring: r.opts.BringFiles}
	if !r.resumed && row.Frame == 0 {
		then.from = &timeline.Address{Run: row.Parent.RunID, Frame: row.Parent.Frame}
	}
	// Restoring the frame's code would undo the rebase, so the warning names no command.
	if copied, ok := r.copies[""].(interface{ Rebased() bool }); ok && copied.Rebased() {
		then.bring = "resume has put it on its base as that is now"
	}
	if what := then.difference(now.VCS); what != "" {
		r.opts.Warn(errors.New(what))
	}
}

// newest is the working copy of the frame from which a run continues.
type newest struct {
	vcs   snapshot.VCS
	frame timeline.Address
	from  *timeline.Address // the parent's frame, if a fork begins; otherwise nil
	bring string            // see Options.BringFiles
}

// difference describes, for people, how a working copy differs from the newest frame's; "" if it does not.
// Change ids are not compared, because jj keeps a change id when the code changes. A fork often begins in
// another working copy, so its commit counts only if the files differ.
func (n *newest) difference(now snapshot.VCS) string {
	same := bothCaptured(n.vcs, now) && n.vcs.Tree == now.Tree
	back := n.bring
	if back == "" {
		back = fmt.Sprintf("`git smithers restore %s` brings its code back", fault.Word(n.frame.String()))
	}
	switch {
	case same && n.from != nil:
		return ""
	case n.vcs.Pointer() != now.Pointer():
		if same {
			back = "the files are the same"
		}
		return fmt.Sprintf("the working copy is at %s, and %s; %s", revision(now), n.was(revision(n.vcs)), back)
	case otherFiles(n.vcs, now):
		return fmt.Sprintf("%s; %s", n.hadOtherFiles(), back)
	}
	return ""
}

// bothCaptured reports whether two captures have files and the same rules for them.
func bothCaptured(a, b snapshot.VCS) bool {
	return !a.Tree.IsZero() && !b.Tree.IsZero() && a.Scope == b.Scope
}

// otherFiles reports whether two captures are known to have different files.
func otherFiles(a, b snapshot.VCS) bool { return bothCaptured(a, b) && a.Tree != b.Tree }

// was describes, for people, the revision of the frame.
func (n *newest) was(revision string) string {
	if n.from != nil {
		return fmt.Sprintf("run %s was forked from %s, which was at %s", n.frame.Run, n.from, revision)
	}
	return fmt.Sprintf("run %s was at %s at frame %d", n.frame.Run, revision, n.frame.Frame)
}

// hadOtherFiles says, for people, that the working copy has other files than the frame.
func (n *newest) hadOtherFiles() string {
	if n.from != nil {
		return fmt.Sprintf("run %s was forked from %s, and the working copy has other files", n.frame.Run, n.from)
	}
	return fmt.Sprintf("the working copy has other files than run %s had at frame %d", n.frame.Run, n.frame.Frame)
}

// revision returns a revision for people.
func revision(v snapshot.VCS) string {
	const shown = 7
	id := v.Pointer()
	if id == "" {
		return "no commit"
	}
	return "commit " + id[:min(shown, len(id))]
}
