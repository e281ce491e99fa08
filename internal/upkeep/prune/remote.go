package prune

import (
	"context"
	"errors"
	"slices"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/refs/transport"
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Results of pruning a run at a remote. With a dry run, ThereDeleted and ThereAbsent are the expected results.
const (
	ThereDeleted = "deleted"  // the remote has deleted the run, and has its tombstone
	ThereAbsent  = "absent"   // the remote did not have the run, and now has its tombstone
	ThereMoved   = "extended" // the remote's run has entries that the pruned run did not have
	ThereUnknown = "unknown"  // the pruned run is collected, so it cannot be compared with the remote's run
	ThereRefused = "refused"  // the remote refused the deletion
)

// PrunedThere is the result of PruneRemote for one run. State is ThereDeleted, ThereAbsent, ThereMoved, ThereUnknown or
// ThereRefused.
type PrunedThere struct {
	RunID  string `json:"runId"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"` // the remote's message, or the number of frame refs that stay at the remote
}

// PrunedAt is the result of PruneRemote. Runs is never nil.
type PrunedAt struct {
	Remote string        `json:"remote"` // its name or URL, without a password
	Runs   []PrunedThere `json:"runs"`
}

// PruneRemote deletes pruned runs at a remote, and pushes their tombstones. runs are ids of runs that were pruned
// in this repository. If runs is empty, PruneRemote takes all such runs. remote "" means the default remote, see
// remotes.FindForPush. With dryRun, PruneRemote only returns the expected results.
//
// Error codes: nothing_pruned if a run in runs was not pruned in this repository, older_format if its tombstone is
// in an older format; remote_not_found; remote_failed; push_refused, with the result for each run, if the remote
// still has a run.
func (k *Keeper) PruneRemote(ctx context.Context, remote string, dryRun bool, runs ...string) (*PrunedAt, error) {
	to, err := remotes.FindForPush(k.store, remote)
	if err != nil {
		return nil, err
	}
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	chosen, err := k.prunedHere(list, runs)
	if err != nil {
		return nil, err
	}
	out := &PrunedAt{Remote: to.Shown(), Runs: make([]PrunedThere, 0, len(chosen))}
	if len(chosen) == 0 {
		return out, nil
	}
	moving := transport.New(transport.Options{Repo: k.git.repo, Env: k.store.Env()})
	there, err := moving.List(ctx, to.Name, refs.Folder)
	if err != nil {
		return nil, to.Explain(err)
	}
	at, _ := byRun(there)
	plans := make(map[string]remotePrune)
	var moves []transport.Move
	for _, h := range chosen {
		plan, err := k.judgeThere(ctx, h, at[h.component], to.Component)
		if err != nil {
			return nil, err
		}
		plans[h.component] = plan
		out.Runs = append(out.Runs, plan.PrunedThere)
		moves = append(moves, plan.moves...)
	}
	if !dryRun && len(moves) > 0 {
		outcomes, err := moving.Push(ctx, to.Name, moves)
		// Even with an error, the remote may have made some of the moves.
		for i, h := range chosen {
			err = errors.Join(err, k.tookThere(ctx, h, plans[h.component], outcomes, &out.Runs[i]))
		}
		if err != nil {
			return out, to.Explain(err)
		}
	}
	return out, k.refusedThere(ctx, out, to.Component)
}

// prunedHere returns the pruned runs in runs, or all pruned runs if runs is empty. A run is pruned if list, the refs of
// this repository, has its tombstone and no tip. The error code is nothing_pruned if a run in runs is not pruned.
func (k *Keeper) prunedHere(list []refs.Ref, runs []string) ([]*runRefs, error) {
	all, _ := k.holdings(list)
	isGone := func(h *runRefs) bool { return !h.gone.IsZero() && h.tip.IsZero() }
	if len(runs) == 0 {
		return byID(all, isGone), nil
	}
	return named(runs, all, isGone, func(run string) *fault.Error {
		return fault.New(fault.NothingPruned, "no pruned run is called %q", run).
			Hint("prune the run in this repository first: `git smithers prune %s`", fault.Word(run)).Detail("run", run)
	})
}

// remotePrune is the planned deletion of a run at a remote, with the expected result.
type remotePrune struct {
	PrunedThere

	moves    []transport.Move // empty if the run must stay
	tracking refs.Name        // the tracking ref of the run in this repository
	stone    refs.Name        // the tracking ref of the run's tombstone in this repository
}

// judgeThere plans the deletion of the pruned run h at a remote. remoteRefs holds the run's refs at the remote, or
// is nil if the remote has no refs of the run. remote is the remote's component in ref names. The plan creates the
// tombstone if the remote has none, and deletes the tip and the frame refs. Frame refs of unknown entries stay at
// the remote, and the reason has their number. If the remote's tip is not a known entry of the pruned run, the
// plan has no moves. Its state is ThereMoved if all entries of the pruned run are known, and otherwise
// ThereUnknown.
func (k *Keeper) judgeThere(ctx context.Context, h *runRefs, remoteRefs *runRefs, remote string) (remotePrune, error) {
	out := remotePrune{PrunedThere: PrunedThere{RunID: h.id, State: ThereAbsent}}
	tip, err1 := refs.Tip(h.id)
	gone, err2 := refs.Gone(h.id)
	var err3, err4 error
	out.tracking, err3 = refs.Remote(remote, h.id)
	out.stone, err4 = refs.RemoteGone(remote, h.id)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return out, timeline.Explain(err)
	}
	if remoteRefs == nil {
		remoteRefs = &runRefs{}
	}
	past, err := pastRuns{k.store}.of(ctx, h)
	if err != nil {
		return out, timeline.Explain(err)
	}
	if remoteRefs.gone.IsZero() {
		out.moves = append(out.moves, transport.Move{Name: gone, How: transport.Create, New: h.gone})
	}
	if !remoteRefs.tip.IsZero() {
		if !past.ids[remoteRefs.tip] { // the remote's run may have entries that only the remote has, so it must stay
			out.State, out.moves = ThereUnknown, nil
			if past.whole {
				out.State = ThereMoved
			}
			return out, nil
		}
		out.State = ThereDeleted
		out.moves = append(out.moves, transport.Move{Name: tip, How: transport.Delete, Old: remoteRefs.tip})
	}
	left := 0
	for _, frame := range remoteRefs.frames() {
		if !past.ids[frame.ID] {
			left++
			continue
		}
		out.moves = append(out.moves, transport.Move{Name: frame.Name, How: transport.Delete, Old: frame.ID})
	}
	if left > 0 {
		out.Reason = "not deleted: " + plain.Count(left, "frame ref") + " not known to belong to the pruned run"
	}
	return out, nil
}

// tookThere updates out and the tracking refs after a push. outcomes are the outcomes of the push, and may include
// those of other runs. If the remote refused a move of the run h, the state in out is ThereRefused. If the remote had
// changed a ref and refused no move, the state is ThereMoved. If the remote deleted the tip, tookThere deletes the
// run's tracking ref in this repository. If the remote created the tombstone, tookThere sets the tombstone's tracking
// ref.
func (k *Keeper) tookThere(ctx context.Context, h *runRefs, plan remotePrune, outcomes []transport.Outcome, out *PrunedThere) error {
	var updates []refs.Update
	for _, one := range outcomes {
		folder, component := keptBy(one.Name)
		if component != h.component {
			continue
		}
		switch {
		case one.Status == transport.Stale && out.State != ThereRefused:
			out.State, out.Reason = ThereMoved, one.Reason
		case one.Status == transport.Refused:
			out.State, out.Reason = ThereRefused, one.Reason
		case one.Status == transport.Stale: // a refusal was noted before
		case folder == "_tip":
			updates = append(updates, refs.Update{Name: plan.tracking})
		case folder == "_gone":
			updates = append(updates, refs.Update{Name: plan.stone, New: h.gone})
		}
	}
	for i := range updates {
		now, err := resolve(ctx, k.store, updates[i].Name)
		if err != nil {
			return err
		}
		updates[i].Old = now
	}
	updates = slices.DeleteFunc(updates, func(u refs.Update) bool { return u.Old == u.New })
	return k.store.Refs().Apply(ctx, updates...)
}

// refusedThere returns a push_refused error for the first run of out that is still at the remote, with the
// results of all runs. component is the remote's. It returns nil if the remote has deleted all runs, or did not have them.
func (k *Keeper) refusedThere(ctx context.Context, out *PrunedAt, component string) error {
	i := slices.IndexFunc(out.Runs, func(r PrunedThere) bool { return r.State != ThereDeleted && r.State != ThereAbsent })
	if i < 0 {
		return nil
	}
	run := out.Runs[i]
	err := fault.New(fault.PushRefused, "run %q is still at %s", run.RunID, out.Remote).Detail("runs", out.Runs)
	switch run.State {
	case ThereMoved:
		err = err.Hint("the remote's run differs from the run that was pruned in this repository: another person may have continued it")
	case ThereUnknown:
		err = err.Hint("the pruned run is collected, so git-smithers cannot compare the remote's run with it")
	default:
		return err.Hint("the remote said: %s", run.Reason)
	}
	tip, nameErr := refs.Tip(run.RunID)
	if nameErr != nil {
		return err
	}
	return err.Hint("`git smithers fetch %s %s --as %s` fetches the remote's run under another id",
		fault.Word(out.Remote), fault.Word(run.RunID), fault.Word(timeline.FreeID(ctx, k.store, run.RunID, component))).
		Hint("`git push %s --delete %s` deletes the remote's run anyway", fault.Word(out.Remote), fault.Word(string(tip)))
}
