package app

import (
	"cmp"
	"context"
	"slices"

	runsummary "github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// FailedRequest asks for the runs that failed, to resume them.
type FailedRequest struct {
	SinceMs  int64  // only runs that failed since, in milliseconds since 1970; 0 means all
	Workflow string // only runs of the workflow with this name; "" means all
	Settings
}

// A FailedRun is a run that failed, and what a resume would do with it.
type FailedRun struct {
	list.RunInfo

	Plan *Plan // nil if the run is skipped
	Skip error // why the run is not resumed with the others; nil if it is
}

// FailedRuns returns the runs that failed and that git smithers runs, in the order in which they failed. A run that another run called is left out:
// its caller's resume continues it. A run is skipped if people must decide first, because its commands are new to this clone, its workflow has
// changed, or somebody denied an approval; if another process executes it; and if a fork that was made after the failure has finished, because
// then what failed was done.
func (d *Desk) FailedRuns(ctx context.Context, req FailedRequest) ([]FailedRun, error) {
	runs, err := list.Runs(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	req.Consent, req.AskFiles = nil, nil
	var failed []FailedRun
	for _, run := range runs {
		if run.Status != string(snapshot.RunFailed) || req.Workflow != "" && run.WorkflowName != req.Workflow || failedAt(run) < req.SinceMs {
			continue
		}
		head, err := list.HeadOf(d.Store, run)
		if err != nil {
			return nil, err
		}
		if ours, err := d.isOurs(ctx, head); err != nil {
			return nil, err
		} else if !ours {
			continue
		}
		one := FailedRun{RunInfo: run}
		if one.Skip = d.whySkipped(runs, run, head); one.Skip == nil {
			one.Plan, one.Skip = d.PlanResume(ctx, ResumeRequest{Run: run.RunID, Settings: req.Settings})
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		failed = append(failed, one)
	}
	slices.SortFunc(failed, func(a, b FailedRun) int {
		return cmp.Or(cmp.Compare(failedAt(a.RunInfo), failedAt(b.RunInfo)), cmp.Compare(a.RunID, b.RunID))
	})
	return failed, nil
}

// SkipNow returns why a run that FailedRuns has returned is not resumed any more, or nil: since then, somebody may have continued the run, or a fork of it may
// have finished.
func (d *Desk) SkipNow(ctx context.Context, run FailedRun) error {
	head, err := d.Store.Head(ctx, run.RunID)
	if err != nil {
		return err
	}
	row := head.Row()
	if row.Status != snapshot.RunFailed || row.Frame != run.LatestFrame {
		return fault.New(fault.RunNotResumable, "it was continued meanwhile").
			Hint("`%s` shows how it stands", fault.CommandLine(fault.Program, "show", run.RunID))
	}
	runs, err := list.Runs(ctx, d.Store)
	if err != nil {
		return err
	}
	return d.whySkipped(runs, run.RunInfo, head)
}

// failedAt returns when a run failed.
func failedAt(run list.RunInfo) int64 {
	if run.FinishedAtMs != nil {
		return *run.FinishedAtMs
	}
	return run.UpdatedAtMs
}

// isOurs reports whether git smithers runs the run of head, and no other run has called it.
func (d *Desk) isOurs(ctx context.Context, head *timeline.Head) (bool, error) {
	engine, err := ForeignEngine(head)
	if err != nil || engine != "" {
		return false, err
	}
	if kept, err := KeptWorkflow(head); err != nil || kept == nil {
		return false, err
	}
	by := head.Row().Caller
	if by == nil {
		return true, nil
	}
	_, err = d.Store.Head(ctx, by.RunID)
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.RunPruned {
		return true, nil
	}
	return false, err
}

// whySkipped returns why a failed run is not resumed with others although a resume could, or nil. runs are all runs.
func (d *Desk) whySkipped(runs []list.RunInfo, run list.RunInfo, head *timeline.Head) error {
	if fork := finishedFork(runs, run.RunID, failedAt(run)); fork != "" {
		return fault.New(fault.RunNotResumable, "its fork %s has finished", fork).
			Hint("`%s` tries it again all the same", fault.CommandLine(fault.Program, "resume", run.RunID))
	}
	retry, err := runsummary.RetryOf(d.Store, head.Entry())
	if err == nil && retry != nil && retry.Denied {
		return fault.New(fault.RunNotResumable, "a person denied it").
			Hint("`%s` asks for the approval again", fault.CommandLine(fault.Program, "resume", run.RunID))
	}
	return err
}

// finishedFork returns a finished fork of a run, or of a fork of it, that was made at the time since or later; "" if there is none. Runs of strangers may be
// forks of each other.
func finishedFork(runs []list.RunInfo, run string, since int64) string {
	forks := make(map[string][]list.RunInfo)
	for _, fork := range runs {
		if fork.ParentRunID != nil && fork.CreatedAtMs >= since {
			forks[*fork.ParentRunID] = append(forks[*fork.ParentRunID], fork)
		}
	}
	seen := map[string]bool{run: true}
	for next := []string{run}; len(next) > 0; next = next[1:] {
		for _, fork := range forks[next[0]] {
			if seen[fork.RunID] {
				continue
			}
			if fork.Status == string(snapshot.RunFinished) {
				return fork.RunID
			}
			seen[fork.RunID], next = true, append(next, fork.RunID)
		}
	}
	return ""
}
