package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A PlannedVariant is what a variant of a sweep would do.
type PlannedVariant struct {
	Number int             `json:"number"`
	RunID  *string         `json:"runId"` // nil if the id of the group would be generated
	Input  json.RawMessage `json:"input"` // the members in which it differs
	Plan   *Plan           `json:"plan"`
}

// PlanSweep returns what Sweep would do. The errors are those of Sweep before anything is made.
func (d *Desk) PlanSweep(ctx context.Context, req SweepRequest) (out []PlannedVariant, err error) {
	wf, from, err := d.swept(ctx, &req, d.toReplay)
	if err != nil {
		return nil, err
	}
	p := &planning{Desk: d, Settings: req.Settings, command: workflow.SweepName, workflow: wf, named: req.Workflow != ""}
	if from != nil {
		p.origin, p.past, p.brings = from.Entry, from.Entry, !req.Plan.InPlace
	} else if p.past, err = d.newestOf(ctx, wf.Name); err != nil {
		return nil, err
	}
	for i := range req.Plan.Variants {
		v := PlannedVariant{Number: i + 1, Input: req.Plan.Variants[i]}
		if req.Group != "" {
			v.RunID = new(req.Group + "." + workflow.VariantTask(v.Number))
		}
		if v.Plan, err = p.variant(ctx, from, &req.Plan, v.Number); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// variant returns the plan of a variant. from is the frame that it forks, or nil.
func (p *planning) variant(ctx context.Context, from *timeline.LoadedEntry, plan *workflow.SweepPlan, number int) (out *Plan, err error) {
	input, edits, err := plan.Variant(number)
	if err != nil {
		return nil, err
	}
	id := timeline.NewRunID()
	if from == nil {
		draft, err := engine.Initial(id, p.workflow, input, p.Now())
		if err != nil {
			return nil, err
		}
		return p.plan(ctx, nil, engine.FirstOf(snapshot.Run{ID: id}, draft))
	}
	fork := p.variantFork(p.workflow, from.Address, id, !plan.InPlace, input, edits)
	fork.DryRun = func(from *timeline.LoadedEntry, draft snapshot.Draft) (err error) {
		out, err = p.plan(ctx, from.Entry, draft)
		return err
	}
	_, err = p.Store.Fork(ctx, fork)
	return out, err
}
