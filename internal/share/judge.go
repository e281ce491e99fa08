package share

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// judge compares each run that has no final state with the remote's run, and returns the runs to push. It gives
// each of the other runs a final state with a reason. It also updates the tracking refs.
//
// If this repository lacks the remote's tip, judge must fetch that tip to compare the runs. It need not fetch the
// tip of an unnamed run whose local tip equals the tracking ref. The remote then has newer entries, so there is
// nothing to push, and the state is current.
func (p *push) judge(ctx context.Context) ([]*outgoingRun, error) {
	var open, unknown []*outgoingRun
	var found []refs.Update // updates of tracking refs
	for _, run := range p.runs {
		there := p.there.tips[run.component]
		switch {
		case run.done:
		case p.isPruned(run): // isPruned has set the final state
		case there == run.Tip:
			run.end(StateCurrent, "")
			found = append(found, p.sighting(run, there)...)
		case there.IsZero():
			open = append(open, run)
		default:
			known, err := p.has(there)
			switch {
			case isDamage(err):
				run.end(StateUnrelated, fmt.Sprintf("the remote's run with this id cannot be read: %v", err))
			case err != nil:
				return nil, err
			case known:
				open = p.compare(run, there, open)
				found = append(found, p.sighting(run, there)...)
			case !run.named && p.tracked.tips[run.component] == run.Tip:
				run.end(StateCurrent, "the remote has newer entries")
			default: // the remote's tip must be fetched before the comparison
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

// sighting returns the update that sets the tracking ref of a run to theirTip, the remote's tip. It returns nil
// if the tracking ref already has this value.
func (p *push) sighting(run *outgoingRun, theirTip objstore.ID) []refs.Update {
	tracked := p.tracked.tips[run.component]
	if tracked == theirTip {
		return nil
	}
	return []refs.Update{{Name: refs.Name(refs.RemoteFolder(p.to.Component) + run.component), Old: tracked, New: theirTip}}
}

// prunedHere and prunedThere are the reasons for a run with a tombstone in this repository or at the remote.
const (
	prunedHere  = "the run was pruned in this repository"
	prunedThere = "the run was pruned at the remote"
)

// isPruned reports whether this repository or the remote has a tombstone of run. If so, it gives run the final
// state pruned. The remote's tombstone does not count if the request names the run and PushRequest.Revive is set.
func (p *push) isPruned(run *outgoingRun) bool {
	here, there := p.gone[run.component], p.there.gone[run.component]
	switch {
	case !here.IsZero():
		run.end(StatePruned, prunedHere)
	case !there.IsZero() && (!p.req.Revive || !run.named):
		run.end(StatePruned, prunedThere)
	default:
		return false
	}
	return true
}

// compare compares run with theirTip, the remote's tip. open has the runs to push so far. If run continues the
// remote's run, compare returns open with run appended. Otherwise, it returns open unchanged and gives run a final
// state with a reason:
//   - current if both tips are equal, or the remote has newer entries
//   - diverged if both sides have entries that the other side lacks
//   - unrelated if the runs have no common history, or the remote's run cannot be read
func (p *push) compare(run *outgoingRun, theirTip objstore.ID, open []*outgoingRun) []*outgoingRun {
	kin, err := relate(p.store.Objects(), run.Tip, theirTip)
	switch {
	case err != nil:
		run.end(StateUnrelated, fmt.Sprintf("the remote's run with this id cannot be read: %v", err))
	case kin.kinship == same:
		run.end(StateCurrent, "")
	case kin.kinship == behind:
		run.end(StateCurrent, "the remote has newer entries")
	case kin.kinship == ahead:
		return append(open, run)
	case kin.kinship == diverged:
		run.end(StateDiverged, fmt.Sprintf("%s: %d entries are only in this repository, %d only at the remote", continuedThere, kin.ahead, kin.behind))
	default:
		run.end(StateUnrelated, otherHistory)
	}
	return open
}

// fetchTips fetches the remote's tips of runs into their tracking refs, for comparison. If git cannot fetch the tips,
// for example because one tip is damaged or was just deleted, fetchTips gives all runs the final state diverged. It
// returns the errors of the connection and of ctx, and the error about an invalid run id.
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
	// The remote's tip is damaged, hostile or deleted by now, so it is not part of the local run's history.
	for _, run := range runs {
		run.end(StateDiverged, fmt.Sprintf("the remote's tip of the run could not be fetched: %v", err))
	}
	return nil
}

// runID returns the run id of a tip. If the ref component is a hash, runID reads the id from the tip's entry.
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
