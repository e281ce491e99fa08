package app

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Cancel sets the status of a run to cancelled, and returns the run's tip. run is the whole id of the run. by is the name of
// the person who cancels the run, or "". A run that
// is already cancelled stays unchanged. The error is run_not_found if no run has this id, foreign_run if another engine
// runs the run, and run_not_resumable if the run has finished or failed.
func (d *Desk) Cancel(ctx context.Context, run, by string) (*timeline.Head, error) {
	head, err := OpenRun(ctx, d.Store, run)
	if err != nil {
		return nil, err
	}
	if err := refuseForeignCancel(d.Store, head); err != nil {
		return nil, err
	}
	err = engine.Cancel(ctx, head, by, d.Now())
	if err == nil || fault.CodeOf(err) == fault.RunNotResumable { // a run that has ended may still have commands of a killed process
		claim.EndLeft(ctx, head, nil)
		d.CancelCalled(ctx, head, by)
	}
	if err == nil && !d.Store.Owner(head.Row()).Live { // else the process that runs the run notifies
		d.Notify(ctx, head)
	}
	return head, err
}

// CancelCalled cancels the called runs of the run of head that no process executes any more, because nothing goes on with them
// once the caller is cancelled, pruned or set back. Errors are warnings.
func (d *Desk) CancelCalled(ctx context.Context, head *timeline.Head, by string) {
	for _, called := range claim.LeftRuns(ctx, head) {
		if err := engine.Cancel(ctx, called, by, d.Now()); err != nil {
			d.Teller.Warn(fmt.Errorf("run %s, which run %s has called, was not cancelled: %w", called.Row().ID, head.Row().ID, err))
		}
	}
}
