package group

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// maxDepth bounds how deep usageOf follows calls.
const maxDepth = 16

// usageOf returns what the attempts of a run used, without those from before a fork, and with those of the runs that it called; nil if no attempt
// says it. unknown counts the attempts that ran a command and do not say what they used: a failed attempt has no usage.
func usageOf(ctx context.Context, s *timeline.Store, head *timeline.Head, depth int) (sum *summary.Usage, unknown int, err error) {
	row, since := head.Row(), int64(0)
	if row.Parent != nil {
		since = row.CreatedAtMs
	}
	add := func(u *summary.Usage) {
		if sum == nil {
			sum = new(summary.Usage)
		}
		sum.AddUsage(u)
	}
	counted := make(map[string]bool) // the rows, by their keys
	rows := head.State().Outputs(summary.UsageTable)
	for a, err := range head.Entry().AllAttempts() {
		switch {
		case err != nil:
			return nil, 0, timeline.Explain(err)
		case a.StartedAtMs < since || a.FinishedAtMs == nil || a.CachedFrom != "":
			continue
		case a.Child != "" && depth < maxDepth:
			of, more, err := calledUsage(ctx, s, row.ID, a.Child, depth)
			if err != nil {
				return nil, 0, err
			}
			if unknown += more; of != nil {
				add(of)
			}
			continue
		}
		key := snapshot.Key(a.NodeID, a.Iteration)
		value, ok, err := rows.Get(key)
		switch {
		case err != nil:
			return nil, 0, timeline.Explain(err)
		case ok && a.State == snapshot.AttemptFinished && !counted[key]:
			counted[key] = true
			u := new(summary.Usage)
			u.Add(value)
			add(u)
		case a.ExitStatus != nil:
			unknown++
		}
	}
	return sum, unknown, nil
}

// calledUsage is usageOf for a run that an attempt of the run caller called. A fork names runs that its parent called, which count as nothing.
func calledUsage(ctx context.Context, s *timeline.Store, caller, run string, depth int) (*summary.Usage, int, error) {
	head, err := s.Head(ctx, run)
	if fault.CodeOf(err) == fault.RunNotFound || fault.CodeOf(err) == fault.RunPruned {
		return nil, 1, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if by := head.Row().Caller; by == nil || by.RunID != caller {
		return nil, 0, nil
	}
	return usageOf(ctx, s, head, depth+1)
}
