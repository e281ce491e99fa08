package share

import (
	"context"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// incomingRun is a fetched run with its result so far.
type incomingRun struct {
	FetchedRun

	component string          // the run's ref component
	local     objstore.ID     // the local tip; zero if this repository lacks the run
	checked   []refs.FrameRef // the frames that the last check has read, newest first
	quiet     bool            // the result is reported only if the request names runs
}

// end sets the state of the run and the reason.
func (r *incomingRun) end(state, reason string) { r.State, r.Reason = state, reason }

// take applies the fetched run with the given ref component to the local run, and appends the result to
// f.out.Runs. If the request names no runs, take leaves out a quiet result, which an earlier fetch has already
// reported. If another process moves the run in the meantime, take tries again, at most rounds times in total, and
// then returns an error that wraps refs.ErrConflict. A fault of the run itself is not an error but a state in the
// result.
func (f *fetch) take(ctx context.Context, component string) error {
	for try := 1; ; try++ {
		run := &incomingRun{component: component}
		err := f.takeOnce(ctx, run)
		if (errors.Is(err, refs.ErrConflict) || err != nil && fault.CodeOf(err) == fault.Conflict) && try < rounds {
			continue // another process is moving the local run
		}
		if err != nil || run.quiet && !f.named() {
			return err
		}
		f.out.Runs = append(f.out.Runs, run.FetchedRun)
		return nil
	}
}

// takeOnce makes one attempt to apply a fetched run to the local run, and sets the result in run. run has only its
// ref component. If another process moves the run in the meantime, the error wraps refs.ErrConflict. The first
// rule that applies decides:
//   - If identify sets a state, the run has this state.
//   - If a local ref of the run is broken, the state is broken.
//   - If FetchRequest.As is set and the remote has the run, the run is stored under the other id; see
//     takeUnder.
//   - A run that is new in this repository and whose id is timeline.Mistakable is stored under another id; see takeMistakable.
//   - If the run was pruned in this repository or at the remote, the state is pruned.
//   - If both tips are equal, the state is current.
//   - A run that is new in this repository is created. Any other run is compared with the local run; see
//     compare.
func (f *fetch) takeOnce(ctx context.Context, run *incomingRun) error {
	there := f.after.tips[run.component]
	isNew := there != f.before.tips[run.component] // otherwise the last fetch has reported the run already
	if err := f.identify(run, there); err != nil || run.State != "" {
		return err
	}
	local, err := f.resolve(ctx, refs.Tip, run.RunID)
	run.local, run.Tip = local, local
	gone, goneErr := f.resolve(ctx, refs.Gone, run.RunID)
	err = errors.Join(err, goneErr)
	switch stone := f.after.gone[run.component]; {
	case errors.Is(err, refs.ErrBroken):
		run.end(StateBroken, err.Error())
	case err != nil:
		return err
	case f.req.As != "" && !there.IsZero(): // the local run with this id does not matter
		return f.takeUnder(ctx, run, there, f.req.As)
	case !gone.IsZero():
		run.end(StatePruned, prunedHere)
		run.quiet = !isNew
	case !stone.IsZero():
		run.end(StatePruned, prunedThere)
		run.quiet = local.IsZero() || stone == f.before.gone[run.component]
	case local == there:
		run.end(StateCurrent, "")
		run.quiet = true
	case local.IsZero() && timeline.Mistakable(run.RunID):
		return f.takeMistakable(ctx, run, there)
	case local.IsZero():
		return f.create(ctx, run, there)
	default:
		return f.compare(ctx, run, there)
	}
	return nil
}

// identify sets run.RunID. If run's ref component is a hash, identify reads the id from the entry theirTip, the
// remote's tip. If theirTip is zero, identify sets the state pruned. If the entry cannot be read or belongs to
// another run, it sets the state invalid. In these cases, run.RunID is the ref component.
func (f *fetch) identify(run *incomingRun, theirTip objstore.ID) error {
	id, ok, err := refs.UnescapeRun(run.component)
	if err != nil {
		return err
	}
	if ok {
		run.RunID = id
		return nil
	}
	run.RunID = run.component
	if theirTip.IsZero() {
		run.end(StatePruned, prunedThere)
		run.quiet = true
		return nil
	}
	entry, err := snapshot.ReadEntry(f.store.Objects(), theirTip)
	if err != nil {
		run.end(StateInvalid, err.Error())
		return nil
	}
	if component, err := refs.EscapeRun(entry.Run); err != nil || component != run.component {
		run.end(StateInvalid, fmt.Sprintf("the entry belongs to run %q", entry.Run))
		return nil //nolint:nilerr // the run itself is invalid
	}
	run.RunID = entry.Run
	return nil
}

// resolve returns the target of the ref nameOf(run), or the zero id if this ref does not exist. run is a run id.
func (f *fetch) resolve(ctx context.Context, nameOf func(string) (refs.Name, error), run string) (objstore.ID, error) {
	name, err := nameOf(run)
	if err != nil {
		return objstore.ID{}, err
	}
	id, err := f.store.Refs().Resolve(ctx, name)
	if errors.Is(err, refs.ErrNotFound) {
		return objstore.ID{}, nil
	}
	return id, err
}

// check checks the entries of a run from tip back to the entry downTo, which it leaves out. If downTo is zero, it
// checks all entries. sound is true if the entries pass the checks. Otherwise, check sets the run's state to
// invalid, with the first problem as the reason. If err is not nil, the caller must ignore sound.
func (f *fetch) check(ctx context.Context, run *incomingRun, tip, downTo objstore.ID) (sound bool, err error) {
	run.checked = nil
	problems, err := f.verifier.Verify(ctx, run.RunID, tip, downTo, func(entry *snapshot.Entry) {
		if entry.Frame != snapshot.NoFrame && entry.ID != downTo {
			run.checked = append(run.checked, refs.FrameRef{Frame: entry.Frame, ID: entry.ID})
		}
		f.checked++
		f.progress("checking entries", f.checked, 0)
	})
	if err == nil && len(problems) > 0 {
		run.end(StateInvalid, problems[0].What)
	}
	return len(problems) == 0, err
}

// create checks a run that is new in this repository, and creates the run's tip at theirTip, the remote's tip. If
// the run fails the checks, create only sets the state invalid.
func (f *fetch) create(ctx context.Context, run *incomingRun, theirTip objstore.ID) error {
	if sound, err := f.check(ctx, run, theirTip, objstore.ID{}); err != nil || !sound {
		return err
	}
	run.end(StateCreated, "")
	return f.forward(ctx, run, theirTip)
}

// takeMistakable stores the run whose tip at the remote is theirTip under an id that no command reads as something else. Each tip has
// an id of its own, so a run that went on at the remote is stored once more. If Options.KeepsID says so, the run keeps an id that is
// as people see it.
func (f *fetch) takeMistakable(ctx context.Context, run *incomingRun, theirTip objstore.ID) error {
	tip, err := snapshot.ReadEntry(f.store.Objects(), theirTip)
	if err == nil && f.opts.KeepsID != nil && f.opts.KeepsID(tip) && timeline.Visible(run.RunID) == run.RunID {
		return f.create(ctx, run, theirTip)
	}
	id := timeline.Unmistakable(run.RunID, theirTip)
	switch err := timeline.CheckFree(ctx, f.store, id); fault.CodeOf(err) {
	case fault.RunExists:
		run.end(StateCurrent, "")
	case fault.RunPruned:
		run.end(StatePruned, prunedHere)
	default:
		return f.takeUnder(ctx, run, theirTip, id)
	}
	run.Fork, run.quiet = id, true
	return nil
}

// takeUnder checks the run whose tip at the remote is theirTip, and stores the run under the given id.
// If the run fails the checks, takeUnder only sets its state and reason. The error's code
// is run_exists, run_pruned or invalid_run_id if no new run may have the id.
func (f *fetch) takeUnder(ctx context.Context, run *incomingRun, theirTip objstore.ID, id string) error {
	if sound, err := f.check(ctx, run, theirTip, objstore.ID{}); err != nil || !sound {
		return err
	}
	tip, err := snapshot.ReadEntry(f.store.Objects(), theirTip)
	if err != nil {
		return err
	}
	if err := (splitter{f.store}).adoptAs(ctx, tip, id); err != nil {
		return err
	}
	row, err := tip.RunRow()
	run.end(StateCreated, "")
	if f.req.As == "" {
		run.Reason = fmt.Sprintf("the id %s can be read as an address, as an option or as another id", run.RunID)
	}
	run.Fork, run.Frames = id, int(row.Frame)+1
	return err
}

// compare compares a run that exists in this repository with theirTip, the remote's tip, and sets the run's state:
//   - If only the remote has new entries and they pass the checks, compare moves the local tip forward.
//   - If only this repository has new entries, the state is ahead.
//   - If both sides have new entries, compare joins or splits the run; see divide.
//   - If the histories have no common entry, the state is unrelated.
//   - If the remote's entries cannot be read or fail the checks, the state is invalid.
func (f *fetch) compare(ctx context.Context, run *incomingRun, theirTip objstore.ID) error {
	if tip, err := snapshot.ReadEntry(f.store.Objects(), theirTip); err != nil || tip.Run != run.RunID {
		_, err := f.check(ctx, run, theirTip, objstore.ID{}) // check sets the state and the reason
		return err
	}
	kin, err := relate(f.store.Objects(), run.local, theirTip)
	if err != nil {
		run.end(StateInvalid, err.Error())
		return nil
	}
	switch kin.kinship {
	case same, ahead:
		run.end(StateAhead, "")
		run.quiet = true
	case unrelated:
		run.end(StateUnrelated, "the run in this repository has another beginning; "+f.takeAs(ctx, run.RunID))
	case behind:
		if sound, err := f.check(ctx, run, theirTip, run.local); err != nil || !sound {
			return err
		}
		run.end(StateForwarded, "")
		return f.forward(ctx, run, theirTip)
	case diverged:
		return f.divide(ctx, run, theirTip, kin.common)
	}
	return nil
}

// divide joins or splits a run that was continued both in this repository and at the remote. It first checks the entries
// from theirTip, the remote's tip, back to common, the newest common entry. If an entry fails the checks, divide
// sets the state invalid and does not split the run. If a process in this repository executes the run, divide sets
// the state busy and does not split the run.
func (f *fetch) divide(ctx context.Context, run *incomingRun, theirTip, common objstore.ID) error {
	if sound, err := f.check(ctx, run, theirTip, common); err != nil || !sound {
		return err
	}
	local, err := snapshot.ReadEntry(f.store.Objects(), run.local)
	if err != nil {
		return err
	}
	remote, err := snapshot.ReadEntry(f.store.Objects(), theirTip)
	if err != nil {
		return err
	}
	if joined, err := f.join(ctx, run, Diverged{run.RunID, local, remote, common}); err != nil || joined {
		return err
	}
	fork, err := splitter{f.store}.splitOff(ctx, split{run.RunID, local, remote, common})
	switch {
	case fault.CodeOf(err) == fault.RunOwned:
		run.end(StateBusy, "a process in this repository is executing the run")
		return nil
	case err != nil:
		return err
	}
	run.end(StateSplit, "")
	run.Tip, run.Fork = theirTip, fork
	for entry, err := range f.store.Chain(remote) {
		if err != nil || entry.ID == common {
			return timeline.Explain(err)
		}
		if entry.Frame != snapshot.NoFrame {
			run.Frames++
		}
	}
	return nil
}
