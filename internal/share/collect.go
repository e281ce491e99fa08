package share

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// collect sets p.runs to the runs to push, and p.gone to the tombstones to push. If the request names runs, p.runs gets
// the named runs, and p.gone their tombstones. Otherwise p.runs gets the runs of all tips except those of PushRequest.Except, and p.gone all tombstones of
// this repository. collect then skips, with a warning, a tip whose run id cannot be read. PushRequest.Revive without
// named runs is an error with code usage.
func (p *push) collect(ctx context.Context) error {
	gone, err := p.store.Refs().Gone(ctx)
	if err = p.broken(err); err != nil {
		return err
	}
	p.gone = make(map[string]objstore.ID)
	fill(p.gone, gone)
	if len(p.req.Runs) > 0 {
		return p.collectNamed(ctx)
	}
	if p.req.Revive {
		return fault.New(fault.Usage, "--revive needs at least one run").Hint("`git smithers push REMOTE RUN --revive` brings a run back that was pruned at the remote")
	}
	tips, err := p.store.Refs().Tips(ctx)
	if err = p.broken(err); err != nil {
		return err
	}
	for _, tip := range tips {
		run, err := p.runID(tip)
		if err != nil {
			p.store.Warn(fmt.Errorf("tip %s: %w", tip.Component, err))
			continue
		}
		if slices.Contains(p.req.Except, run) {
			continue
		}
		p.runs = append(p.runs, &outgoingRun{PushedRun: PushedRun{RunID: run, Tip: tip.ID}, component: tip.Component})
	}
	return nil
}

// readTombstones adds the tombstones of the runs in p.runs to p.gone, because another process may have pruned a
// run after collect read the tombstones.
func (p *push) readTombstones(ctx context.Context) error {
	for _, run := range p.runs {
		name, err := refs.Gone(run.RunID)
		if err != nil {
			return err
		}
		stone, err := p.store.Refs().Resolve(ctx, name)
		if err == nil {
			p.gone[run.component] = stone
		} else if !errors.Is(err, refs.ErrNotFound) {
			return err
		}
	}
	return nil
}

// collectNamed sets p.runs to the runs that the request names, each once, and then those that they have called. It removes the tombstones of all other
// runs from p.gone. A name is a run's id or a unique prefix of the id. For a run that was pruned in this
// repository, the name must be the whole id. Such a run has a tombstone and no tip, so its Tip is zero.
func (p *push) collectNamed(ctx context.Context) error {
	stones := make(map[string]objstore.ID)
	for _, name := range p.req.Runs {
		run, err := p.store.ResolveRun(ctx, name)
		// A pruned run has no tip, but its tombstone can be pushed if name is the run's whole id.
		component, _ := refs.EscapeRun(name)
		if stone := p.gone[component]; fault.CodeOf(err) == fault.RunPruned && !stone.IsZero() {
			run, err = name, nil
		}
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.runs, func(r *outgoingRun) bool { return r.RunID == run }) {
			continue
		}
		tipName, err := refs.Tip(run)
		if err != nil {
			return err
		}
		tip, err := p.store.Refs().Resolve(ctx, tipName)
		if err != nil && !errors.Is(err, refs.ErrNotFound) {
			return err
		}
		component, err = refs.EscapeRun(run)
		if err != nil {
			return err
		}
		if stone := p.gone[component]; !stone.IsZero() {
			stones[component] = stone
		}
		p.runs = append(p.runs, &outgoingRun{PushedRun: PushedRun{RunID: run, Tip: tip}, component: component, named: true})
	}
	p.gone = stones
	return p.collectCalled(ctx)
}

// collectCalled adds the runs that the runs in p.runs have called to p.runs.
func (p *push) collectCalled(ctx context.Context) error {
	for _, run := range slices.Clone(p.runs) {
		if run.Tip.IsZero() {
			continue
		}
		called, err := p.called(ctx, run.Tip)
		if err != nil {
			return err
		}
		for _, c := range called {
			if !slices.ContainsFunc(p.runs, func(r *outgoingRun) bool { return r.RunID == c.id }) {
				p.runs = append(p.runs, &outgoingRun{PushedRun: PushedRun{RunID: c.id, Tip: c.tip}, component: c.component})
			}
		}
	}
	return nil
}
