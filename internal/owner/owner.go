// Package owner finds the process that owns a run on this machine, by the files of claims in a store's private folder.
//
// A claim is an entry of the run and a file. The entry fences writers on all machines. The file shows on this machine
// whether the process that made the claim is alive.
package owner

import (
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Owner is the owner that a run's row names, with this machine's knowledge of that process.
type Owner struct {
	Token string // the name of the owner's claim; "" if the run has no owner
	Live  bool   // the process has the claim's file locked, and touched it within smithers.staleAfter
	Here  bool   // the claim was made in this repository on this machine
	// Elsewhere means that another clone made the claim: another machine, or a copy of the repository. Whether the process is alive is unknown.
	Elsewhere bool
	PID       int       // the process id; 0 if unknown
	BeatAt    time.Time // the time of the last heartbeat; zero if unknown
	Vague     bool      // locks of files do not tell whether the process is alive: Live is by the heartbeat alone
}

// Of returns the owner that the row of a run names, with the state of the owner's process according to the claim's
// file. now is the current time. The owner is live if its process is alive and its last heartbeat is not older
// than maxAge. If the claim has no readable file on this machine, the result has only Token set.
func (r Runs) Of(row snapshot.Run, now time.Time, maxAge time.Duration) Owner {
	owner := Owner{Token: row.Owner, Elsewhere: row.Owner != ""}
	folder, err := r.Folder(row.ID)
	if err != nil || !isToken(row.Owner) {
		return owner
	}
	seen, err := folder.look(row.Owner)
	if err != nil {
		return owner
	}
	owner.Here, owner.Elsewhere, owner.PID, owner.BeatAt = true, false, seen.process.PID, seen.beatAt
	owner.Vague = seen.vague
	owner.Live = seen.locked && now.Sub(seen.beatAt) <= maxAge
	return owner
}

// Refusal returns run_owned for a run that a live process owns. The caller has checked that o is live.
func (o Owner) Refusal(row snapshot.Run) error {
	out := fault.New(fault.RunOwned, "run %q is being executed by another process", row.ID)
	if o.PID != 0 {
		out = fault.New(fault.RunOwned, "run %q is being executed by process %d", row.ID, o.PID).
			Detail("pid", o.PID)
	}
	if o.Vague {
		out = out.Hint("locks of files do not hold here, as where two machines share the file system: the process counts as alive until smithers.staleAfter after its last heartbeat")
	}
	return out.Hint("wait until the process ends").
		Hint("or ask the process to stop: `git smithers cancel %s`", fault.Word(row.ID)).
		Hint("`git smithers resume %s --force` takes the run over: the process then writes nothing more to the run", fault.Word(row.ID)).
		Detail("runId", row.ID).Detail("epoch", row.Epoch)
}

// Lease is how long after the newest entry of a run the process of another clone that has claimed the run is taken for alive.
const Lease = time.Hour

// RefuseElsewhere returns run_owned if another clone has claimed the run with the row, which is running or waits, and at, the time of the newest
// entry that is here, is less than Lease ago.
func (o Owner) RefuseElsewhere(row snapshot.Run, at, now time.Time) error {
	if !o.Elsewhere || row.Status != snapshot.RunRunning && !row.Status.Waiting() || now.Sub(at) >= Lease {
		return nil
	}
	return fault.New(fault.RunOwned, "run %q was claimed by a process in another clone, which may be executing the run", row.ID).
		Hint("fetch again to see how far the run is").
		Hint("if that process is gone: `git smithers resume %s --force` takes the run over, and tasks that were running run again; `travel`, `reset` and `undo` take --force, too", fault.Word(row.ID)).
		Hint("without --force, this works %v after its newest entry, at %s", Lease, at.Add(Lease).Format(time.RFC3339)).
		Detail("runId", row.ID).Detail("epoch", row.Epoch)
}
