// Package owner finds the process that owns a run on this machine, by the files of claims in a store's private folder.
//
// A claim is an entry of the run and a file. The entry fences writers, wherever they are; the file
// shows on this machine whether the process that made the claim is alive.
package owner

import (
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Owner is the owner that a run's row names, and what this machine knows about that process.
type Owner struct {
	Token  string // "" if the run has no owner
	Live   bool   // the process has the claim's file locked, and touched it within smithers.staleAfter
	Here   bool   // the claim was made in this repository on this machine
	PID    int    // 0 if unknown
	BeatAt time.Time
}

// Of returns the owner of a run by its row. stale is the age at which the claim of a process counts as
// abandoned.
func (r Runs) Of(row snapshot.Run, now time.Time, stale time.Duration) Owner {
	owner := Owner{Token: row.Owner}
	folder, err := r.Folder(row.ID)
	if err != nil || !isToken(row.Owner) {
		return owner
	}
	seen, err := folder.look(row.Owner)
	if err != nil {
		return owner
	}
	owner.Here, owner.PID, owner.BeatAt = true, seen.process.PID, seen.beatAt
	owner.Live = seen.locked && now.Sub(seen.beatAt) <= stale
	return owner
}

// Refusal is the error run_owned: a live process owns the run.
func (o Owner) Refusal(row snapshot.Run) error {
	out := fault.New(fault.RunOwned, "run %q is being executed by another process", row.ID)
	if o.PID != 0 {
		out = fault.New(fault.RunOwned, "run %q is being executed by process %d", row.ID, o.PID).
			Detail("pid", o.PID)
	}
	return out.Hint("wait for it, or ask it to stop: `git smithers cancel %s`", fault.Word(row.ID)).
		Hint("`git smithers resume %s --force` takes the run over: that process then writes nothing more to the run", fault.Word(row.ID)).
		Detail("runId", row.ID).Detail("epoch", row.Epoch)
}
