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

// agreeToFiles asks for consent to the files of the variants that have not ended: those of the group's own run are not theirs. A variant that has not
// started has the files of the frame that the plan names.
func (s *sweepRun) agreeToFiles(ctx context.Context) error {
	apart, err := s.worksApart(ctx, s.head.Row().ID, s.plan)
	if err != nil || !apart && s.plan.From == "" {
		return err
	}
	g, err := group.Read(ctx, s.Store, s.head, nil, s.Now())
	if err != nil {
		return err
	}
	var entries []*snapshot.Entry
	fresh := false
	for _, v := range g.Variants {
		switch head := v.Head(); {
		case head == nil:
			fresh = fresh || v.Status == group.NotStarted
		case !v.Ended():
			entries = append(entries, head.Entry())
		}
	}
	if fresh && s.plan.From != "" {
		base, err := s.baseOf(ctx, "", s.plan)
		if err != nil {
			return err
		}
		entries = append(entries, base.Entry)
	}
	for _, entry := range entries {
		check := &filesCheck{Desk: s.Desk, FilesTrust: s.FilesTrust, entry: entry, brought: apart}
		if err := check.agreeToFiles(commandsOf(s.workflow)); err != nil {
			return err
		}
	}
	return nil
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
