package share

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/refs/transport"
	"github.com/git-smithers/git-smithers/snapshot"
)

// judge compares every open run with the remote's, and returns the runs to push. If the remote's
// tip is unknown here, judge fetches it, but only for runs that were named or continued here since
// the last push.
func (p *push) judge(ctx context.Context) ([]*outgoingRun, error) {
	var open, unknown []*outgoingRun
	var found []refs.Update // updates of tracking refs
	for _, run := range p.runs {
		there := p.there.tips[run.component]
		switch {
		case run.done:
		case p.isPruned(run):
		case there == run.Tip:
			run.end(StateCurrent, "")
			found = append(found, p.sighting(run, there)...)
		case there.IsZero():
			open = append(open, run)
		default:
			known, err := p.has(there)
			switch {
			case isDamage(err):
				run.end(StateUnrelated, fmt.Sprintf("the remote's run of that name cannot be read: %v", err))
			case err != nil:
				return nil, err
			case known:
				open = p.compare(run, there, open)
				found = append(found, p.sighting(run, there)...)
			case !run.named && p.tracked.tips[run.component] == run.Tip:
				run.end(StateCurrent, "the remote has more")
			default:
				unknown = append(unknown, run)
			}
		}
	}
	p.track(ctx, found)
	if err := p.fetchTips(ctx, unknown); err != nil {
		return nil, err
	}
	for _, run := range unknown {
		if run.done {
			continue
		}
		name, err := refs.Remote(p.to.Component, run.RunID)
		if err != nil {
			return nil, err
		}
		there, err := p.store.Refs().Resolve(ctx, name)
		if err != nil {
			return nil, err
		}
		open = p.compare(run, there, open)
	}
	return open, nil
}

// sighting returns the update that tracks the remote's tip of a run; none if it is up to date.
func (p *push) sighting(run *outgoingRun, there objstore.ID) []refs.Update {
	tracked := p.tracked.tips[run.component]
	if tracked == there {
		return nil
	}
	return []refs.Update{{Name: refs.Name(refs.RemoteFolder(p.to.Component) + run.component), Old: tracked, New: there}}
}

// prunedHere is the reason for a run with a local tombstone.
const prunedHere = "it was pruned here"

// isPruned ends a run that has a tombstone, and reports whether it did.
func (p *push) isPruned(run *outgoingRun) bool {
	here, there := p.gone[run.component], p.there.gone[run.component]
	switch {
	case !here.IsZero():
		run.end(StatePruned, prunedHere)
	case !there.IsZero() && (!p.req.Revive || !run.named):
		run.end(StatePruned, "it was pruned there")
	default:
		return false
	}
	return true
}

// compare adds a run to open if it is a continuation of the remote's.
func (p *push) compare(run *outgoingRun, there objstore.ID, open []*outgoingRun) []*outgoingRun {
	kin, err := relate(p.store.Objects(), run.Tip, there)
	switch {
	case err != nil:
		run.end(StateUnrelated, fmt.Sprintf("the remote's run of that name cannot be read: %v", err))
	case kin.kinship == same:
		run.end(StateCurrent, "")
	case kin.kinship == behind:
		run.end(StateCurrent, "the remote has more")
	case kin.kinship == ahead:
		return append(open, run)
	case kin.kinship == diverged:
		run.end(StateDiverged, fmt.Sprintf("it was continued there, too: %d new entries here and %d there", kin.ahead, kin.behind))
	default:
		run.end(StateUnrelated, "the remote's run of that id has another history")
	}
	return open
}

// fetchTips fetches the remote's tips of runs for comparison.
func (p *push) fetchTips(ctx context.Context, runs []*outgoingRun) error {
	if len(runs) == 0 {
		return nil
	}
	specs := make([]transport.Spec, len(runs))
	for i, run := range runs {
		from, err := refs.Tip(run.RunID)
		if err != nil {
			return err
		}
		to, err := refs.Remote(p.to.Component, run.RunID)
		if err != nil {
			return err
		}
		specs[i] = transport.Spec{From: string(from), To: string(to)}
	}
	err := p.transport().Fetch(ctx, p.to.Name, specs, false)
	if err == nil || ctx.Err() != nil || errors.Is(err, transport.ErrRemote) {
		return p.to.Explain(err)
	}
	// Damaged, hostile or deleted since: the tip there is not part of this run's history.
	for _, run := range runs {
		run.end(StateDiverged, fmt.Sprintf("the remote has another tip, which could not be fetched: %v", err))
	}
	return nil
}

// runID returns the id of a tip's run.
func (s *Sharer) runID(tip refs.TipRef) (string, error) {
	run, ok, err := refs.UnescapeRun(tip.Component)
	if err != nil || ok {
		return run, err
	}
	entry, err := snapshot.ReadEntry(s.store.Objects(), tip.ID)
	if err != nil {
		return "", err
	}
	return entry.Run, nil
}
