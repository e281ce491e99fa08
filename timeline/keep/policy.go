package keep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// Policy selects the ended runs to keep: a run is kept if any rule keeps it. Runs that have not ended are
// always kept. A run that no engine of ours executed, such as a capture or a fork that was never resumed,
// counts as ended if its newest entry is a day old. The zero Policy keeps no ended run.
//
// A run dated in the future, by a wrong clock or on purpose, is kept by a rule about time and does not count for
// Last: otherwise its date would displace another run.
type Policy struct {
	Last   int           // the newest runs, this many
	Within time.Duration // runs that ended within this time
	Labels []string      // runs with one of these labels
}

// chooser chooses the runs to prune.
type chooser struct{ store *timeline.Store }

// choose returns the runs and why they are kept, the newest first; named runs in the given order.
func (c chooser) choose(ctx context.Context, policy Policy, runs []string) ([]PrunedRun, error) {
	if len(runs) == 0 {
		return c.judge(ctx, policy)
	}
	out := []PrunedRun{}
	for _, run := range runs {
		id, err := c.store.ResolveRunToChange(ctx, run)
		if err != nil {
			return nil, err
		}
		head, err := c.store.Head(ctx, id)
		if err != nil {
			return nil, err
		}
		row := head.Row()
		if owner := c.store.Owner(row); owner.Live {
			return nil, fault.New(fault.RunOwned, "run %q is being executed by another process", id).
				Hint("wait for it, or ask it to stop: `git smithers cancel %s`", fault.Word(id)).
				Detail("runId", id)
		}
		one := PrunedRun{RunID: id, Frames: row.Frame + 1}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out, nil
}

// judge returns all runs, and why a policy keeps them.
func (c chooser) judge(ctx context.Context, policy Policy) ([]PrunedRun, error) {
	runs, err := list.Runs(ctx, c.store)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(runs, func(a, b list.RunInfo) int { return cmp.Compare(endOf(b), endOf(a)) })
	now := c.store.Now()
	out, ended := make([]PrunedRun, len(runs)), 0
	for i, run := range runs {
		out[i] = PrunedRun{RunID: run.RunID, Frames: run.LatestFrame + 1}
		over, err := c.hasEnded(ctx, run, now)
		if err != nil {
			return nil, err
		}
		if !over {
			out[i].Kept = "has not ended"
			continue
		}
		if time.UnixMilli(endOf(run)).After(now) && (policy.Last > 0 || policy.Within > 0) {
			out[i].Kept = "is dated in the future: prune it by name"
			continue
		}
		ended++
		out[i].Kept = policy.keeps(run, ended, now)
	}
	return out, nil
}

// quietUntilEnded is the age of the newest entry at which a run that we do not execute counts as ended.
const quietUntilEnded = 24 * time.Hour

// hasEnded reports whether a run has ended. A waiting run has not, whichever program executes it: its question is open.
func (c chooser) hasEnded(ctx context.Context, run list.RunInfo, now time.Time) (bool, error) {
	status := snapshot.RunStatus(run.Status)
	switch {
	case status.Ended():
		return true, nil
	case status.Waiting() || now.Sub(time.UnixMilli(run.UpdatedAtMs)) < quietUntilEnded:
		return false, nil
	}
	head, err := c.store.Head(ctx, run.RunID)
	if err != nil {
		return false, err
	}
	row := head.Row()
	executed := row.Epoch > 0 // executing a run, and going back in it, raises its epoch
	if row.Parent != nil {
		executed = row.StartedAtMs != nil
	}
	return !executed && !c.store.Owner(row).Live, nil
}

// endOf returns when a run ended, or its newest known time.
func endOf(run list.RunInfo) int64 {
	if run.FinishedAtMs != nil {
		return *run.FinishedAtMs
	}
	return run.UpdatedAtMs
}

// keeps returns why the n-th newest ended run is kept; "" if it is not.
func (p Policy) keeps(run list.RunInfo, n int, now time.Time) string {
	switch {
	case n <= p.Last:
		return fmt.Sprintf("one of the last %d", p.Last)
	case p.Within > 0 && now.Sub(time.UnixMilli(endOf(run))) <= p.Within:
		return "ended not long ago"
	case run.BranchLabel != nil && slices.Contains(p.Labels, *run.BranchLabel):
		return "is labeled " + *run.BranchLabel
	}
	return ""
}
