package app

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// fire starts the runs of the schedules whose time has come. If the next time of a schedule is before v.due, or v.due is zero, fire sets
// v.due to it. A supervisor of named runs fires nothing. fire returns the errors of ctx, of Report and of reading the schedules.
func (v *supervisor) fire(ctx context.Context) error {
	if len(v.req.Runs) > 0 {
		return nil
	}
	schedules, err := cron.Of(v.Store).All(ctx)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if !s.Fires() || s.NextAtMs == nil {
			continue
		}
		if err := v.takeUp(ctx, s); err != nil {
			return err
		}
		if at := time.UnixMilli(*s.NextAtMs); at.After(v.Now()) {
			if v.due.IsZero() || at.Before(v.due) {
				v.due = at
			}
			continue
		}
		if err := v.fireOne(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// untouched is how long a run of a schedule is not executed before a supervisor takes it up. The process that created it claims it within
// milliseconds, unless it died.
const untouched = 10 * time.Second

// takeUp executes the last run of a schedule if the process that created it has died before it executed anything.
func (v *supervisor) takeUp(ctx context.Context, s *cron.Schedule) error {
	if v.running[s.LastRun] || v.Now().Before(v.pauses[s.LastRun].until) {
		return nil
	}
	head, err := v.last(ctx, s)
	if err != nil {
		return v.left(ctx, s, err)
	}
	if head == nil {
		return nil
	}
	row := head.Row()
	if row.Frame > 0 || row.Status != snapshot.RunPending || v.Now().Sub(time.UnixMilli(row.CreatedAtMs)) < untouched {
		return nil
	}
	if err := v.await(ctx, v.req.MaxRuns-1); err != nil {
		return err
	}
	return v.start(ctx, s, head, false)
}

// fireOne starts the run of a schedule whose time has come, unless another process takes the time, the time was missed, or the run before
// has not ended. What keeps a run from starting is recorded with the schedule, and reported.
func (v *supervisor) fireOne(ctx context.Context, s *cron.Schedule) error {
	busy, err := v.busy(ctx, s)
	if err != nil {
		return v.left(ctx, s, err)
	}
	if busy && s.Overlap == cron.OverlapQueue {
		return nil
	}
	if err := v.await(ctx, v.req.MaxRuns-1); err != nil {
		return err
	}
	due, err := cron.Of(v.Store).Claim(ctx, s.ID)
	switch {
	case err != nil:
		return v.left(ctx, s, err)
	case due == nil:
		return nil
	case due.Missed:
		return v.left(ctx, s, fault.New(fault.Interrupted, "nobody was there at %s", time.UnixMilli(due.At).UTC().Format(time.RFC3339)))
	case busy && s.Overlap == cron.OverlapSkip:
		return v.left(ctx, s, fault.New(fault.RunOwned, "run %s has not ended", s.LastRun))
	}
	return v.begin(ctx, due)
}

// busy reports whether the run that a schedule started last has not ended. A run that was pruned has.
func (v *supervisor) busy(ctx context.Context, s *cron.Schedule) (bool, error) {
	if s.Overlap == cron.OverlapAllow {
		return false, nil
	}
	head, err := v.last(ctx, s)
	return head != nil && !head.Row().Status.Ended(), err
}

// last returns the tip of the run that a schedule started last, or nil if there is no such run: it was pruned, or the process that
// started it died before it created the run.
func (v *supervisor) last(ctx context.Context, s *cron.Schedule) (*timeline.Head, error) {
	if s.LastRun == "" {
		return nil, nil //nolint:nilnil // it has started no run
	}
	head, err := v.Store.Head(ctx, s.LastRun)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		return nil, nil //nolint:nilnil // see above
	}
	return head, err
}

// begin creates the run of a schedule and executes it. The schedule names the run before there is one, so that a supervisor after this
// one finds a run that this one has created and not executed. Nobody can be asked, so a workflow that has changed since its commands were
// confirmed has no run.
// If it is stopped before there is a run, the schedule has its time again.
func (v *supervisor) begin(ctx context.Context, due *cron.Due) error {
	s := due.Schedule
	wf, run, err := v.nameScheduled(ctx, s, "", nil)
	var head *timeline.Head
	if err == nil {
		head, err = v.createScheduled(ctx, s, wf, run)
	}
	if err != nil {
		v.warnIf(v.withdrawUnborn(context.WithoutCancel(ctx), s, run, due.At, ctx.Err() != nil))
		return v.left(ctx, s, err)
	}
	return v.start(ctx, s, head, true)
}

// start executes the run of a schedule, which is at its first frame. captured says that this frame has the current files.
func (v *supervisor) start(ctx context.Context, s *cron.Schedule, head *timeline.Head, captured bool) error {
	row := head.Row()
	if err := v.launch(ctx, head, captured); err != nil {
		v.pause(row.ID)
		return v.left(ctx, s, err)
	}
	v.scheduled[row.ID] = s.ID
	return v.req.Report(SupervisorReport{Action: ScheduleFired, Schedule: s.ID, Run: row.ID, Status: row.Status, Frame: row.Frame})
}

// left records and reports why the time of a schedule came to nothing.
func (v *supervisor) left(ctx context.Context, s *cron.Schedule, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	v.warnIf(cron.Of(v.Store).Failed(ctx, s.ID, cause.Error()))
	return v.req.Report(SupervisorReport{Action: ScheduleLeft, Schedule: s.ID, Err: cause})
}

// noteEnd records with its schedule that a run has failed.
func (v *supervisor) noteEnd(ctx context.Context, end executionEnd) {
	run := end.row.ID
	id, ok := v.scheduled[run]
	delete(v.scheduled, run)
	if code := fault.CodeOf(end.err); ok && (code == fault.RunFailed || code == fault.RunCancelled) {
		v.warnIf(cron.Of(v.Store).Failed(context.WithoutCancel(ctx), id, end.err.Error()))
	}
}
