package engine

import (
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// frame returns r.next as the draft of a frame on the newest known tip, with the captures in read. In the first frame
// of this process, the run's row also gets the captured revision. frame does not change r.next, so commitIf can call
// frame again after the tip has moved.
func (r *runner) frame(read captures) (snapshot.Draft, error) {
	d, err := r.next.snapshot()
	if err != nil {
		return d, err
	}
	d.Operation = r.tip.operation()
	d.Journal = append(slices.Clip(d.Journal), r.next.endedRows(read, r.rec.Row().Frame+1, r.running)...)
	if read.any() {
		before, err := r.rec.Entry().VCSRevision()
		if err != nil {
			return d, timeline.Explain(err)
		}
		d.VCS, d.Objects = read.vcs(before, r.running.in(""), r.wf), read.objects
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

// startsAt copies the type, root and revision of the captured shared working copy to the run's row. Without a capture
// of the shared working copy, startsAt changes nothing. It is called for the first frame of a process.
func (c captures) startsAt(row *snapshot.Run) {
	if shared := c[""]; shared != nil {
		row.VCSType, row.VCSRoot, row.VCSRevision = shared.VCS.Type, shared.VCS.Root, shared.VCS.Pointer()
	}
}

// endedRows returns the journal rows of the attempts that ended. frame is the number of the next frame. If the
// attempt's working copy is in read, the row has the captured files and this number. The row then also has the keys of
// the other attempts that shared the files, see beside. Otherwise the row has no files, no frame and no such keys.
// running holds the attempts that still run.
func (d *draft) endedRows(read captures, frame int64, running runningAttempts) []snapshot.Change {
	rows := make([]snapshot.Change, 0, len(d.ended))
	for _, a := range d.ended {
		if got := read[a.Worktree]; got != nil {
			a.CommitID, a.Tree, a.Frame = got.VCS.CommitID, got.VCS.Tree, &frame
			a.Beside = d.beside(a, running)
		}
		rows = append(rows, attemptChange(a))
	}
	return rows
}

// beside returns the sorted keys of the other attempts that shared the files of the ended attempt a: the running
// attempts, and the attempts that ended with the same frame.
func (d *draft) beside(a snapshot.Attempt, running runningAttempts) []string {
	keys := running.in(a.Worktree)
	for _, other := range d.ended {
		if other.Worktree == a.Worktree && keyOf(other) != keyOf(a) {
			keys = append(keys, keyOf(other))
		}
	}
	slices.Sort(keys)
	return keys
}

// in returns the sorted keys of the launched attempts in one working copy. name is the name of the working copy; ""
// is the shared one.
func (running runningAttempts) in(name string) []string {
	var keys []string
	for _, a := range running {
		if a.launched && a.Worktree == name {
			keys = append(keys, keyOf(a.Attempt))
		}
	}
	slices.Sort(keys)
	return keys
}

// keyOf returns the journal key of an attempt.
func keyOf(a snapshot.Attempt) string { return snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt) }
