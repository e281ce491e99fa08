package engine

import (
	"context"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// tip is the newest known entry of a run that this process has claimed.
type tip struct {
	rec     Recorder
	runID   string
	lost    <-chan struct{}    // closed when another process has taken over the run; may be nil
	epoch   int64              // the epoch of this process's claim
	appends int                // number of drafted frames; epoch and appends name each append
	state   *snapshot.State    // of the newest known tip
	status  snapshot.RunStatus // of the newest known tip
}

// newTip returns the tip that rec has read. lost is Options.Lost.
func newTip(rec Recorder, lost <-chan struct{}) *tip {
	row := rec.Row()
	return &tip{rec: rec, runID: row.ID, lost: lost, epoch: row.Epoch, state: rec.State(), status: row.Status}
}

// check compares the tip that the recorder has read with the newest known tip. Another process has taken over the run
// if the epochs differ, or if the states differ in any part except the mailbox. The error's code is then conflict.
// cancelled is true if another process has cancelled the run since the newest known tip.
func (t *tip) check() (cancelled bool, err error) {
	row := t.rec.Row()
	if row.Epoch != t.epoch || !snapshot.SameCore(t.rec.State(), t.state) {
		return false, t.takenOver()
	}
	return row.Status == snapshot.RunCancelled && t.status != snapshot.RunCancelled, nil
}

// accept makes the recorder's tip the newest known tip, after this process has appended a frame.
func (t *tip) accept() { t.state, t.status = t.rec.State(), t.rec.Row().Status }

// isLost reports whether another process is known to have taken over the run.
func (t *tip) isLost() bool {
	select {
	case <-t.lost:
		return true
	default:
		return false
	}
}

// takenOver returns the error of code conflict for a run that another process has taken over.
func (t *tip) takenOver() error {
	return fault.New(fault.Conflict, "run %s was taken over by another process; this process writes nothing more", t.runID).
		Hint("`git smithers timeline %s` shows the run's progress", fault.Word(t.runID))
}

// operation returns the unique name of the append of the last drafted frame: "EPOCH.APPENDS". EPOCH is the epoch of
// this process, and APPENDS counts its appends.
func (t *tip) operation() string {
	return strconv.FormatInt(t.epoch, 10) + "." + strconv.Itoa(t.appends)
}

// update appends the draft that build returns. Each time another process appends first, update calls check and then
// build again. There is no limit, because many incoming signals must not stop the run. If check returns an error,
// update appends nothing and returns this error.
func (t *tip) update(ctx context.Context, check func() error, build func() (snapshot.Draft, error)) error {
	first := true
	return t.rec.Update(ctx, func() (*snapshot.Draft, error) {
		if !first {
			if err := check(); err != nil {
				return nil, err
			}
		}
		first = false
		d, err := build()
		return &d, err
	})
}
