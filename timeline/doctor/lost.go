package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/verify"
)

// lostTips finds runs that this repository had and that have neither a tip nor a tombstone. A run
// was here if it has entries that no ref leads to, the tip at which it was pruned, frame refs, or a
// line that was removed from packed-refs. A run that a remote had at the last contact counts, too, if all of
// its entries are sound.
//
// Three kinds of entries do not count: entries that a fork stands on, entries of an alternate, and entries
// that a killed process never acknowledged. An entry that lost a race against another entry of its run
// does not matter either, because that run has a tip.
func (e *examination) lostTips(ctx context.Context) error {
	if e.lacksObjects() {
		return nil // possibly entries
	}
	reached, named := e.entries.reached(e.elsewhere), e.named()
	for _, run := range slices.Sorted(maps.Keys(e.entries.byRun)) {
		name, err := refs.Tip(run)
		if err != nil {
			continue // no run has such an id
		}
		component := path.Base(string(name))
		known := named[component]
		delete(named, component)
		if none, err := e.hasNone(ctx, component); err != nil {
			return err
		} else if !none {
			continue
		}
		id, err := e.lostEntry(ctx, run, component, known, reached)
		if err != nil {
			return err
		}
		if !id.IsZero() {
			e.lostTip(name, id, known || len(e.entries.atRemotes(run)) > 0)
		}
	}
	return errors.Join(e.lostWhole(ctx, named), e.lostHeld(ctx))
}

// lostTip reports a run without a tip. named is false if only the run's entries are known.
func (e *examination) lostTip(name refs.Name, id objstore.ID, named bool) {
	what := "entries of the run are here, and no ref of its own"
	if !named {
		what += "; they may be of a command that was killed before it had made the run"
	}
	e.note(Finding{
		Kind: LostTip, Where: string(name), What: what,
		Repair: fmt.Sprintf("recreates the ref at %v, the run's newest entry in this repository", id),
	}, func(ctx context.Context) error {
		err := e.store.Refs().Apply(ctx, refs.Update{Name: name, New: id})
		if errors.Is(err, refs.ErrConflict) {
			return nil // it has one now
		}
		return err
	})
}

// lostEntry returns the entry at which a run's tip should be; zero if the run was never here.
func (e *examination) lostEntry(ctx context.Context, run, component string, known bool, reached map[objstore.ID]bool) (objstore.ID, error) {
	if id, err := refAt(ctx, e.store, refs.Name(refs.HeldFolder+component)); err != nil || !id.IsZero() {
		return id, err // its tombstone was lost
	}
	named := known
	for id := range e.entries.byRun[run] {
		known = known || !reached[id]
	}
	if !known {
		return e.tracked(ctx, run, component)
	}
	if !named && len(e.entries.atRemotes(run)) == 0 {
		if left, err := e.entries.neverAcknowledged(run, reached); err != nil || left {
			return objstore.ID{}, err
		}
	}
	newest, err := e.entries.newest(ctx, run)
	if err != nil || newest == nil {
		return objstore.ID{}, err
	}
	if own, err := e.store.Objects().Holds(newest.ID); err != nil || !own {
		return objstore.ID{}, err // the run of another repository
	}
	return newest.ID, nil
}

// tracked returns the tip that a remote had at the last contact. It is zero if there is none, or if the run is
// unsound, which the fetch has reported.
func (e *examination) tracked(ctx context.Context, run, component string) (objstore.ID, error) {
	for _, item := range e.refs.Items {
		if of, ok := trackedRun(item.Name); !ok || of != component || item.Broken != nil {
			continue
		}
		problems, err := verify.Entries(ctx, e.store, run, item.ID, objstore.ID{}, nil)
		if err != nil {
			return objstore.ID{}, err
		}
		if len(problems) == 0 {
			return item.ID, nil
		}
	}
	return objstore.ID{}, nil
}

// lostWhole reports runs that have lost everything but their names.
func (e *examination) lostWhole(ctx context.Context, named map[string]bool) error {
	for _, component := range slices.Sorted(maps.Keys(named)) {
		if none, err := e.hasNone(ctx, component); err != nil {
			return err
		} else if none {
			e.note(Finding{
				Kind: LostTip, Where: refs.TipsFolder + component,
				What: "its line in packed-refs was invalid, and no entry of the run is here; `git smithers fetch` brings it from a remote that has it, " +
					"and without smithers/damaged/packed-refs the run is forgotten",
			}, nil)
		}
	}
	return nil
}

// lostHeld finds the tips of pruned runs whose lines in packed-refs are lost.
func (e *examination) lostHeld(ctx context.Context) error {
	for _, line := range e.dropped {
		component, found := strings.CutPrefix(string(line.Name), refs.HeldFolder)
		if !found || line.Cut || !line.Name.IsOurs() {
			continue
		}
		tip, err1 := refAt(ctx, e.store, refs.Name(refs.TipsFolder+component))
		current, err2 := refAt(ctx, e.store, line.Name)
		newest, err3 := e.entries.newest(ctx, runOf(line.Name))
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		if newest != nil && tip.IsZero() && current.IsZero() {
			e.lostTip(line.Name, newest.ID, true)
		}
	}
	return nil
}

// hasNone reports whether a run has neither a tip nor a tombstone. It reads the refs again, because the run
// may be new.
func (e *examination) hasNone(ctx context.Context, component string) (bool, error) {
	for _, folder := range []string{refs.TipsFolder, refs.GoneFolder} {
		_, err := e.store.Refs().Resolve(ctx, refs.Name(folder+component))
		if err == nil || errors.Is(err, refs.ErrBroken) {
			return false, nil // another finding reports it
		}
		if !errors.Is(err, refs.ErrNotFound) {
			return false, err
		}
	}
	return true, nil
}

// named returns the ref components of runs with frame refs, or with a tip or frame in a line that
// was removed from packed-refs.
func (e *examination) named() map[string]bool {
	named := make(map[string]bool)
	for _, line := range e.dropped {
		if component, _, err := line.Name.Split(); err == nil && !line.Cut {
			named[component] = true
		}
	}
	for _, item := range e.refs.Items {
		if component, frame, err := item.Name.Split(); err == nil && frame != refs.NoFrame && item.Broken == nil {
			if entry, err := snapshot.ReadEntry(e.store.Objects(), item.ID); err == nil && e.entries.byRun[entry.Run] != nil {
				named[component] = true
			}
		}
	}
	return named
}
