package prune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Policy selects the ended runs to keep: a run is kept if any rule keeps it. A run that has not ended is
// always kept. A Policy that has a workflow says nothing about the runs of other workflows. The zero Policy keeps no
// ended run.
//
// A run may lack an end, for example a capture or a fork that was never resumed. Such a run counts as ended
// if three conditions hold: git-smithers never executed the run, the run does not wait, and its newest entry
// is at least a day old.
//
// A run may be dated in the future, by a wrong clock or on purpose. Last and Within keep such a run. It does
// not count among the newest runs of Last: otherwise its date would displace another run.
type Policy struct {
	Workflow string // the name of the workflow whose runs the policy is for; "" is for all runs

	Last   int           // keeps this number of runs, those that ended last
	Within time.Duration // keeps the runs that ended at most this time ago; 0 keeps no run
	Labels []string      // keeps the forks with one of these labels
}

// chooser selects the runs to prune.
type chooser struct{ store *timeline.Store }

// choose returns the runs to prune. If runs is not empty, choose returns these runs in the given order, each once.
// Otherwise, it returns the runs that the policy is for, sorted by their end, the newest first, with the reason for each
// run that the policy keeps. Error codes: run_not_found; run_owned if a live process executes a run in runs.
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
				Hint("wait until the process ends, or ask the process to stop: `git smithers cancel %s`", fault.Word(id)).
				Detail("runId", id)
		}
		one := PrunedRun{RunID: id, Frames: row.Frame + 1}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out, nil
}

// judge returns the runs that the policy is for, sorted by their end, the newest first; see endOf. In each result, Kept is the reason to
// keep the run, or "" if the run may be pruned. judge keeps a run that has not ended. If the policy has Last or
// Within, judge also keeps a run that is dated in the future. For all other runs, the policy decides.
func (c chooser) judge(ctx context.Context, policy Policy) ([]PrunedRun, error) {
	runs, err := list.Runs(ctx, c.store)
	if err != nil {
		return nil, err
	}
	if policy.Workflow != "" {
		runs = slices.DeleteFunc(runs, func(run list.RunInfo) bool { return run.WorkflowName != policy.Workflow })
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

// quietUntilEnded is the age of the newest entry at which a run that git-smithers does not execute counts as
// ended.
const quietUntilEnded = 24 * time.Hour

// hasEnded reports whether a run counts as ended at the time now. A run with a final status has ended. A waiting
// run has not ended, because its question is open. Any other run counts as ended if three conditions hold:
//   - git-smithers never executed the run.
//   - No live process owns the run.
//   - The newest entry of the run is at least quietUntilEnded old.
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
	executed := row.Epoch > 0 // the execution of a run raises its epoch, and so does a travel, reset or undo
	if row.Parent != nil {
		executed = row.StartedAtMs != nil // a fork has no start time before its first resume
	}
	return !executed && !c.store.Owner(row).Live, nil
}

// endOf returns the time at which a run ended or, if it has not ended, the time of its newest entry. The time
// is in milliseconds since 1970.
func endOf(run list.RunInfo) int64 {
	if run.FinishedAtMs != nil {
		return *run.FinishedAtMs
	}
	return run.UpdatedAtMs
}

// keeps returns the reason for which the policy keeps run, the n-th newest ended run, counted from 1. It tries
// p.Last first, then p.Within, and then p.Labels. It returns "" if the policy does not keep the run.
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
