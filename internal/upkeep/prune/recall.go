package prune

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Recall brings forgotten runs back unchanged, and removes their tombstones. runs are whole ids. Each run returns in
// its own transaction; after an error, the runs before it stay restored. Error codes: nothing_pruned if a run was never
// pruned or is no longer held; older_format if a run is in an older format; run_exists if another run has its id;
// run_owned if a live process executes the other run.
func (k *Keeper) Recall(ctx context.Context, runs ...string) (*Result, error) {
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all, _ := k.holdings(list)
	chosen, err := named(runs, all, canComeBack, func(run string) *fault.Error {
		return k.nothingPruned(ctx, run, all)
	})
	if err != nil {
		return nil, err
	}
	out := &Result{Runs: []PrunedRun{}}
	for _, h := range chosen {
		frames, err := k.recall(ctx, h)
		if err != nil {
			return nil, err
		}
		out.Runs = append(out.Runs, PrunedRun{RunID: h.id, Frames: frames})
	}
	return out, nil
}

// Recallable returns the ids of the runs that Recall can restore, sorted.
func (k *Keeper) Recallable(ctx context.Context) ([]string, error) {
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all, _ := k.holdings(list)
	var runs []string
	for _, h := range all {
		if h.id != "" && canComeBack(h) {
			runs = append(runs, h.id)
		}
	}
	slices.Sort(runs)
	return runs, nil
}

// canComeBack reports whether Recall can restore h. Recall can restore h if h is held. If h has both a tip and a
// tombstone and is not held, Recall only removes the tombstone.
func canComeBack(h *runRefs) bool { return !h.held.IsZero() || !h.gone.IsZero() && !h.tip.IsZero() }

// nothingPruned returns the error, with code nothing_pruned, that run cannot be recalled, because it is collected or
// was never pruned. all is the first result of holdings.
func (k *Keeper) nothingPruned(ctx context.Context, run string, all map[string]*runRefs) *fault.Error {
	for _, h := range all {
		if h.id == run && !h.gone.IsZero() {
			return fault.New(fault.NothingPruned, "run %q was pruned and collected, so this repository no longer has the run", run).
				Hint("if a remote still has the run, fetch it under another id: `git smithers fetch REMOTE %s --as %s`", fault.Word(run), fault.Word(timeline.FreeID(ctx, k.store, run, ""))).
				Detail("runId", run)
		}
	}
	return fault.New(fault.NothingPruned, "no pruned run is called %q", run).Detail("run", run)
}

// recall restores the run h and returns its number of frames. In one transaction, it sets the tip, deletes the
// tombstone and the ref that holds the run, and deletes frame refs that do not belong to the restored run. It then
// creates refs for the run's newest frames, as many as smithers.frameRefs allows.
func (k *Keeper) recall(ctx context.Context, h *runRefs) (frames int64, err error) {
	back, err := k.toRecall(ctx, h)
	if err != nil {
		return 0, err
	}
	entry, err := snapshot.ReadEntry(k.store.Objects(), back)
	if err != nil {
		return 0, timeline.Explain(err)
	}
	run, err := k.store.Frames(ctx, entry, objstore.ID{})
	if err != nil {
		return 0, timeline.Explain(err)
	}
	tip, err1 := refs.Tip(h.id)
	held, err2 := refs.Held(h.id)
	gone, err3 := refs.Gone(h.id)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, timeline.Explain(err)
	}
	// One transaction restores the tip, and removes the tombstone and the ref that holds the run.
	updates := otherFrames(h, run)
	if h.tip != back {
		updates = append(updates, refs.Update{Name: tip, Old: h.tip, New: back})
	}
	if !h.held.IsZero() {
		updates = append(updates, refs.Update{Name: held, Old: h.held})
	}
	if !h.gone.IsZero() {
		updates = append(updates, refs.Update{Name: gone, Old: h.gone})
	}
	if err := k.store.Commit(ctx, k.store.Objects().Begin(), updates); err != nil {
		return 0, err
	}
	_, err = k.store.FrameRefs().Make(ctx, run)
	return run.Row.Frame + 1, timeline.Explain(err)
}

// toRecall returns the entry that becomes the tip of the restored run h. If h has no tip, toRecall returns the held
// entry. If nothing is held, or the tip descends from the held entry, toRecall returns the tip.
//
// Otherwise, the held entry replaces the existing tip, and the existing tip's entry must not be lost. If a live process
// executes the existing run, the error code is run_owned. toRecall returns the held entry if it descends from the
// existing tip, or if the tip of another run reaches the existing tip's entry. In all other cases, the error code is
// run_exists.
func (k *Keeper) toRecall(ctx context.Context, h *runRefs) (objstore.ID, error) {
	switch {
	case h.tip.IsZero(), h.tip == h.held:
		return h.held, nil
	case h.held.IsZero():
		return h.tip, nil
	case timeline.Descends(k.store.Objects(), h.tip, h.held): // the run was continued after the prune
		return h.tip, nil
	}
	entry, err := snapshot.ReadEntry(k.store.Objects(), h.tip)
	if err != nil {
		return h.held, timeline.Explain(err)
	}
	row, err := entry.RunRow()
	if err != nil {
		return h.held, timeline.Explain(err)
	}
	if err := k.store.RefuseOwned(row); err != nil {
		return h.held, err
	}
	if timeline.Descends(k.store.Objects(), h.held, h.tip) {
		return h.held, nil
	}
	// A fork of the existing run keeps the run's entries.
	list, err := k.git.run(ctx, "for-each-ref", "--format=%(refname)", "--contains="+h.tip.String(), refs.TipsFolder)
	if err != nil {
		return h.held, timeline.Explain(err)
	}
	for name := range strings.FieldsSeq(list) {
		if name != refs.TipsFolder+h.component {
			return h.held, nil
		}
	}
	return h.held, fault.New(fault.RunExists, "a different run %q exists", h.id).
		Hint("%s", k.asAnother(ctx, h)).
		Hint("after that copy, `git smithers prune --undo %s` replaces the existing run by the pruned run", fault.Word(h.id)).
		Hint("`git smithers prune --collect` deletes the pruned run for good").Detail("runId", h.id)
}

// otherFrames returns the updates that delete those frame refs of h that differ from the frames of run, the
// restored chain.
func otherFrames(h *runRefs, run *timeline.RunFrames) []refs.Update {
	var updates []refs.Update
	for _, ref := range h.frames() {
		if _, frame, err := ref.Name.Split(); err == nil && run.At(frame) != ref.ID {
			updates = append(updates, refs.Update{Name: ref.Name, Old: ref.ID})
		}
	}
	return updates
}
