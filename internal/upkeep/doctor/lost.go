package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// lostTips notes the runs that this repository had and that have neither a tip nor a tombstone. The
// repository had a run if one of these exists: entries that no ref reaches, a ref that holds the pruned run,
// frame refs, or a line that a repair removed from packed-refs. A run with a tracking ref also counts if all
// of its entries are valid.
//
// Three kinds of entries do not count: entries in the chain of a fork, entries of an alternate, and entries that a
// killed process never acknowledged. If two processes appended to a run at the same time, only one entry is in the
// run's chain. The other entry does not count either, because the run has a tip.
//
// lostTips notes nothing while damaged object files are unrepaired, because they may hold entries.
func (e *examination) lostTips(ctx context.Context) error {
	if e.lacksObjects() {
		return nil // the damaged files may hold entries
	}
	reached, named := e.entries.reached(e.elsewhere), e.named()
	for _, run := range slices.Sorted(maps.Keys(e.entries.byRun)) {
		name, err := refs.Tip(run)
		if err != nil {
			continue // the id is invalid, so no run has it
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

// lostTip notes that a ref is missing: a tip, or the ref that holds a pruned run. name is the name of the ref. The
// repair creates the ref with the value id, unless another process has created the ref. named is false if only the
// run's entries prove that the repository had the run.
func (e *examination) lostTip(name refs.Name, id objstore.ID, named bool) {
	what := "this repository has entries of the run, but the ref is missing"
	if !named {
		what += "; a command that was killed before it created the run may have left the entries"
	}
	e.note(Finding{
		Kind: LostTip, Where: string(name), What: what,
		Repair: fmt.Sprintf("recreates the ref at %v, the run's newest entry in this repository", id),
	}, func(ctx context.Context) error {
		err := e.store.Refs().Apply(ctx, refs.Update{Name: name, New: id})
		if errors.Is(err, refs.ErrConflict) {
			return nil // another process has created the ref
		}
		return err
	})
}

// lostEntry returns the id of the entry at which the missing tip of a run should be. If the run does not count as lost
// (see lostTips), lostEntry returns the zero id. component is the run's ref component. The parameter known is true if a
// frame ref or a removed line of packed-refs names the run. reached has the ids of the entries that refs reach.
func (e *examination) lostEntry(ctx context.Context, run, component string, known bool, reached map[objstore.ID]bool) (objstore.ID, error) {
	if id, err := refAt(ctx, e.store, refs.Name(refs.HeldFolder+component)); err != nil || !id.IsZero() {
		return id, err // the run was pruned, and its tombstone is lost
	}
	named := known
	// The repository also had the run if it has an entry that no ref reaches.
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
		return objstore.ID{}, err // an alternate has the entry: the run belongs to another repository
	}
	return newest.ID, nil
}

// tracked returns the value of the run's tracking ref: its tip at a remote at the last contact. It returns
// the zero id if the run has no tracking ref with valid entries; the fetch has reported invalid entries.
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

// lostWhole notes the runs in named that have neither a tip nor a tombstone: this repository has their names
// and none of their entries. The keys of named are ref components.
func (e *examination) lostWhole(ctx context.Context, named map[string]bool) error {
	for _, component := range slices.Sorted(maps.Keys(named)) {
		if none, err := e.hasNone(ctx, component); err != nil {
			return err
		} else if none {
			e.note(Finding{
				Kind: LostTip, Where: refs.TipsFolder + component,
				What: "the line of the ref in packed-refs was invalid, and this repository has no entry of the run; " +
					"`git smithers fetch` gets the run from a remote that has it; to forget the run, remove smithers/damaged/packed-refs",
			}, nil)
		}
	}
	return nil
}

// lostHeld notes pruned runs without the ref that holds them: the ref was lost with an invalid line of packed-refs.
// lostHeld notes such a run only if this repository has entries of the run and the run has no tip.
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

// hasNone reports whether the run with the given ref component has neither a tip nor a tombstone. A broken
// ref counts as a ref. hasNone reads the refs again, because another process may have created the run since
// readRefs.
func (e *examination) hasNone(ctx context.Context, component string) (bool, error) {
	for _, folder := range []string{refs.TipsFolder, refs.GoneFolder} {
		_, err := e.store.Refs().Resolve(ctx, refs.Name(folder+component))
		if err == nil || errors.Is(err, refs.ErrBroken) {
			return false, nil // another finding reports a broken ref
		}
		if !errors.Is(err, refs.ErrNotFound) {
			return false, err
		}
	}
	return true, nil
}

// named returns the ref components of the runs that this repository knows by name: by a frame ref with a
// readable entry, or by a tip or frame ref in a line that a repair removed from packed-refs.
func (e *examination) named() map[string]bool {
	named := make(map[string]bool)
	for _, line := range e.dropped {
		if component, _, err := line.Name.Split(); err == nil && !line.Cut {
			named[component] = true
		}
	}
	for _, item := range e.refs.Items {
		if component, frame, err := item.Name.Split(); err == nil && frame != refs.NoFrame && item.Broken == nil && !named[component] {
			if entry, err := snapshot.ReadEntry(e.store.Objects(), item.ID); err == nil && e.entries.byRun[entry.Run] != nil {
				named[component] = true
			}
		}
	}
	return named
}
