package prune

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// ForgetOne replaces a run by its tombstone, as [Keeper.Forget] does, without measuring anything. If an earlier run with
// the same id is held, its history is given up: only the newest can be brought back. run is the whole id. If there is no
// such run, ForgetOne does nothing. Codes: run_owned if a live process executes the run; conflict if another process
// changed the run.
func (k *Keeper) ForgetOne(ctx context.Context, run string) error {
	h, err := k.one(ctx, run)
	if err != nil || h.tip.IsZero() {
		return err
	}
	entry, err := snapshot.ReadEntry(k.store.Objects(), h.tip)
	if err != nil {
		return timeline.Explain(err)
	}
	row, err := entry.RunRow()
	if err != nil {
		return timeline.Explain(err)
	}
	if err := k.store.RefuseOwned(row); err != nil {
		return err
	}
	if k.toHold(h).IsZero() {
		held, err := refs.Held(run)
		if err != nil {
			return timeline.Explain(err)
		}
		update := refs.Update{Name: held, Old: h.held}
		if err := k.store.Commit(ctx, k.store.Objects().Begin(), []refs.Update{update}); err != nil {
			return err
		}
		h.held = objstore.ID{}
	}
	return k.forget(ctx, h)
}

// one returns the refs of one run, without its tracking refs.
func (k *Keeper) one(ctx context.Context, run string) (*runRefs, error) {
	component, err := refs.EscapeRun(run)
	tip, err1 := refs.Tip(run)
	held, err2 := refs.Held(run)
	gone, err3 := refs.Gone(run)
	frames, err4 := k.store.Refs().Frames(ctx, run)
	if err := errors.Join(err, err1, err2, err3, err4); err != nil {
		return nil, timeline.Explain(err)
	}
	var list []refs.Ref
	for _, f := range frames {
		name, err := refs.Frame(run, f.Frame)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		list = append(list, refs.Ref{Name: name, ID: f.ID})
	}
	for _, name := range []refs.Name{held, gone, tip} {
		id, err := resolve(ctx, k.store, name)
		if err != nil {
			return nil, err
		}
		if !id.IsZero() {
			list = append(list, refs.Ref{Name: name, ID: id})
		}
	}
	h := &runRefs{}
	if runs, _ := byRun(list); runs[component] != nil {
		h = runs[component]
	}
	h.component, h.id = component, run
	return h, nil
}
