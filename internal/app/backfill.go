package app

import (
	"context"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/cron"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	unaskedTimes = 100 // runs that a backfill starts without BackfillRequest.Many
	mostTimes    = 10_000
)

// BackfillRequest asks to run the times of a schedule that had no run.
type BackfillRequest struct {
	Schedule string
	From, To time.Time // both included; times to come are left out
	DryRun   bool      // report the times, and run nothing
	Many     bool      // start more than a hundred runs
	Settings
}

// BackfillTime is a time of a schedule. It has a run if a run of the schedule began from then to before the next time.
type BackfillTime struct {
	At     time.Time
	Run    string // its run, or the id that its run would have
	Exists bool   // the run was there before
	Status string // of the run after a backfill; "" if nothing was run
}

// Backfill runs a schedule once for each time that has no run, the oldest first, one after the other, and reports each time. A time whose run fails does not keep
// the next ones back; the error is the first one. Codes: those of RunScheduled; limit_exceeded; unconfirmed for too many runs; run_owned if the run
// before has not ended and the schedule forbids that both work.
func (d *Desk) Backfill(ctx context.Context, req BackfillRequest, report func(BackfillTime) error) (first error) {
	s, err := cron.Of(d.Store).Find(ctx, req.Schedule)
	if err != nil {
		return err
	}
	all, open, err := d.backfillTimes(ctx, s, req)
	if err != nil {
		return err
	}
	if open > unaskedTimes && !req.Many && !req.DryRun {
		return fault.New(fault.Unconfirmed, "the backfill would start %d runs", open).Hint("--dry-run lists them, --yes starts them")
	}
	if !req.DryRun && s.Overlap != cron.OverlapAllow {
		release, err := cron.Of(d.Store).Alone(s.ID)
		if err != nil {
			return err
		}
		defer release()
	}
	for _, one := range all {
		if !one.Exists && !req.DryRun {
			if err := d.fill(ctx, s.ID, &one, req.Settings); err != nil && one.Status == "" {
				return err
			} else if first == nil {
				first = err
			}
		}
		if err := report(one); err != nil {
			return err
		}
	}
	return first
}

// fill runs one time of a schedule, and sets its status if there is a run.
func (d *Desk) fill(ctx context.Context, id string, one *BackfillTime, settings Settings) error {
	s, err := cron.Of(d.Store).Find(ctx, id) // it may have fired meanwhile
	if err != nil {
		return err
	}
	if busy, err := (&supervisor{Desk: d}).busy(ctx, s); err != nil || busy {
		if err == nil {
			err = fault.New(fault.RunOwned, "run %s has not ended, and schedule %s runs nothing beside it", s.LastRun, s.ID).
				Hint("backfill again when it has: times that have a run are left out").Detail("runId", s.LastRun)
		}
		return err
	}
	result, err := d.runNamed(ctx, s, one.Run, settings)
	if result != nil {
		one.Status = string(result.Run.Status)
	}
	if one.Exists = fault.CodeOf(err) == fault.RunExists; one.Exists { // another backfill was faster
		return nil
	}
	return err
}

// backfillTimes returns the times of a backfill, and how many have no run.
func (d *Desk) backfillTimes(ctx context.Context, s *cron.Schedule, req BackfillRequest) (all []BackfillTime, open int, err error) {
	if now := d.Now(); req.To.After(now) {
		req.To = now
	}
	times, err := s.Between(req.From, req.To, mostTimes)
	if err != nil {
		return nil, 0, err
	}
	runs, err := d.runsOf(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	for i, at := range times[:len(times)-1] {
		one := BackfillTime{At: at, Run: s.ID + "-" + at.UTC().Format(runStamp)}
		for began, run := range runs {
			if next := times[i+1]; !began.Before(at) && (next.IsZero() || began.Before(next)) {
				one.Run, one.Exists = run, true
			}
		}
		if !one.Exists {
			open++
		}
		all = append(all, one)
	}
	return all, open, nil
}

// runsOf returns the runs that a schedule has started, also those that were pruned, by the time in their ids.
func (d *Desk) runsOf(ctx context.Context, s *cron.Schedule) (map[time.Time]string, error) {
	tips, err := d.Store.Refs().Tips(ctx)
	gone, goneErr := d.Store.Refs().Gone(ctx)
	for _, err := range []error{err, goneErr} {
		if _, err = timeline.BrokenRefs(err); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	runs := make(map[time.Time]string)
	for _, tip := range append(gone, tips...) {
		run, _, _ := refs.UnescapeRun(tip.Component)
		stamp, ok := strings.CutPrefix(run, s.ID+"-")
		if began, err := time.Parse(runStamp, stamp[:min(len(stamp), len(runStamp))]); ok && err == nil {
			runs[began] = run
		}
	}
	return runs, nil
}
