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
	lost    <-chan struct{}    // closed when another process has taken over the run
	epoch   int64              // of our claim
	appends int                // number of drafted frames; epoch and appends name each append
	state   *snapshot.State    // of the newest known tip
	status  snapshot.RunStatus // of the newest known tip
}

func newTip(rec Recorder, lost <-chan struct{}) *tip {
	row := rec.Row()
	return &tip{rec: rec, runID: row.ID, lost: lost, epoch: row.Epoch, state: rec.State(), status: row.Status}
}

// check checks a tip that may have moved. Entries that change only the mailbox, or no state at all,
// commute with ours; another epoch or another state means that this process has lost the run.
// cancelled means that another process has cancelled the run.
func (t *tip) check() (cancelled bool, err error) {
	row := t.rec.Row()
	if row.Epoch != t.epoch || !snapshot.SameCore(t.rec.State(), t.state) {
		return false, t.takenOver()
	}
	return row.Status == snapshot.RunCancelled && t.status != snapshot.RunCancelled, nil
}

// accept makes the recorder's tip the newest known one, after a frame of ours.
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

func (t *tip) takenOver() error {
	return fault.New(fault.Conflict, "run %s was taken over by another process", t.runID).
		Hint("this process writes nothing more; `git smithers timeline %s` shows what happens", fault.Word(t.runID))
}

// operation returns the name of the next append.
func (t *tip) operation() string {
	return strconv.FormatInt(t.epoch, 10) + "." + strconv.Itoa(t.appends)
}

// update appends a frame and rebuilds it as long as other processes append first. A stream of
// incoming signals must not stop the run.
func (t *tip) update(ctx context.Context, still func() error, build func() (snapshot.Draft, error)) error {
	first := true
	return t.rec.Update(ctx, func() (*snapshot.Draft, error) {
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
