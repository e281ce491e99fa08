package app

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// createVariant makes the run of a variant: a fork of the frame that the plan names, or a run that begins with the files of the group. If e.apart is
// set, the run works on these files in a worktree of its own.
func (e *execution) createVariant(ctx context.Context, c engine.Call, plan *workflow.SweepPlan) error {
	base, err := e.baseOf(ctx, c.Caller.RunID, plan)
	if err != nil {
		return err
	}
	if plan.From == "" && !e.apart {
		return e.createCalled(ctx, c)
	}
	release, err := e.Store.Objects().Pin(ctx) // the files of the group are those of the new run before it exists
	if err != nil {
		return timeline.Explain(err)
	}
	defer release()
	if plan.From != "" {
		input, edits, err := plan.Variant(workflow.VariantOf(c.Caller.NodeID))
		if err != nil {
			return fault.New(fault.InvalidInput, "%w", err)
		}
		fork := e.variantFork(c.Workflow, base.Address, c.RunID, e.apart, input, edits)
		fork.Caller = &c.Caller
		e.head, err = e.Store.Fork(ctx, fork)
		return err
	}
	vcs, err := base.Entry.VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	now := e.Now()
	draft, err := engine.Initial(c.RunID, c.Workflow, c.Input, now)
	if err != nil {
		return err
	}
	vcs.Frame, vcs.Attempts, vcs.Worktrees = 0, nil, nil
	draft.VCS = vcs
	e.head, err = e.Store.Create(ctx, snapshot.Run{ID: c.RunID, CreatedAtMs: now.UnixMilli(), Caller: &c.Caller}, draft)
	return err
}

// baseOf returns the entry whose files the variants of a group begin with.
func (d *Desk) baseOf(ctx context.Context, run string, plan *workflow.SweepPlan) (*timeline.LoadedEntry, error) {
	if plan.From != "" {
		return d.Store.Load(ctx, plan.From)
	}
	return d.Store.Load(ctx, run)
}

// noFilesApart returns no_code for variants that cannot have worktrees.
func noFilesApart(why string) error {
	return fault.New(fault.NoCode, "%s, so the variants cannot have worktrees with them", why).Hint("add --in-place to let the variants work in this folder")
}

// worksApart reports whether the variants of a group work in worktrees of their own. Code: no_code if they should, and the group or the frame that they
// fork has no files.
func (d *Desk) worksApart(ctx context.Context, run string, plan *workflow.SweepPlan) (bool, error) {
	if plan.InPlace || d.Store.Workspace().Root == "" {
		return false, nil
	}
	base, err := d.baseOf(ctx, run, plan)
	if err != nil {
		return false, err
	}
	vcs, err := base.Entry.VCSRevision()
	if err == nil && (vcs == nil || vcs.Tree.IsZero()) {
		err = noFilesApart("no files were captured for " + base.Address.String())
	}
	return err == nil, timeline.Explain(err)
}

// findApart sets e.apart if the run is a variant that works in a worktree of its own. It does so for a variant that is resumed without its group.
func (e *execution) findApart(ctx context.Context) error {
	by := e.head.Row().Caller
	if by == nil || e.apart {
		return nil
	}
	caller, err := e.Store.Head(ctx, by.RunID)
	if err != nil {
		return nil //nolint:nilerr // the group is gone, so the run goes on as any other
	}
	plan, err := group.PlanOf(caller)
	if err != nil || plan == nil {
		return err
	}
	e.apart, err = e.worksApart(ctx, by.RunID, plan)
	return err
}
