package app

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/claim"
	"github.com/git-smithers/git-smithers/timeline/cron"
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
	return v.begin(ctx, due.Schedule)
}

// busy reports whether the run that a schedule started last has not ended. A run that was pruned has.
func (v *supervisor) busy(ctx context.Context, s *cron.Schedule) (bool, error) {
	if s.LastRun == "" || s.Overlap == cron.OverlapAllow {
		return false, nil
	}
	head, err := v.Store.Head(ctx, s.LastRun)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !head.Row().Status.Ended(), nil
}

// begin creates the run of a schedule and executes it.
func (v *supervisor) begin(ctx context.Context, s *cron.Schedule) error {
	table := cron.Of(v.Store)
	run, err := v.scheduledRun(ctx, s)
	var head *timeline.Head
	if err == nil {
		head, err = v.createScheduled(ctx, s, run)
	}
	if err == nil {
		err = table.Started(ctx, s.ID, run)
	}
	if err != nil {
		return v.left(ctx, s, err)
	}
	opts, err := (&execution{Desk: v.Desk, Settings: v.req.Settings, head: head, captured: true}).options()
	if err != nil {
		return v.left(ctx, s, err)
	}
	agreed, err := v.workflow(ctx, head, opts)
	if err != nil {
		return v.left(ctx, s, err)
	}
	held, err := claim.Take(ctx, head, claim.Request{})
	if err != nil {
		return v.left(ctx, s, err)
	}
	v.running[run], v.scheduled[run] = true, s.ID
	row := head.Row() // the execution owns the head from here on
	go func() { v.ended <- v.execute(ctx, head, held, agreed, opts) }()
	return v.req.Report(SupervisorReport{Action: ScheduleFired, Schedule: s.ID, Run: run, Status: row.Status, Frame: row.Frame})
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
