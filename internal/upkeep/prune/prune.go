package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// PrunedRun is a run that was forgotten, kept, recalled or collected.
type PrunedRun struct {
	RunID  string `json:"runId"`
	Kept   string `json:"kept,omitempty"` // why the run is kept; "" if the run is not kept
	Frames int64  `json:"frames"`
	Bytes  int64  `json:"bytes"` // size on disk of the objects that only this run needs; 0 if the run is kept or recalled
}

// Result is the result of pruning or of a dry run. Runs is never nil.
type Result struct {
	Runs  []PrunedRun `json:"runs"`
	Bytes int64       `json:"bytes"` // disk space that Collect frees if these runs are pruned, or has freed
	// Partial means that the repository is a partial clone: git deletes no object that came from the remote, also if nothing needs it.
	Partial bool `json:"partialClone,omitempty"`
	// Left is the size in bytes of unneeded objects that Collect could not delete: they are not in packs of
	// git-smithers, or a process uses their packs. git gc deletes such objects.
	Left int64 `json:"leftBytes"`
}

// Forget removes the named runs or, if no run is named, the runs that the policy does not keep. It replaces each run by
// a tombstone and a ref that holds the run's objects until Collect. Forks of a removed run lose nothing. The result
// also lists the runs that are kept: because of the policy, or because another run with the same id is already pruned
// and held. With dryRun, Forget removes nothing.
//
// Each run is removed in its own transaction; after an error, the runs before it stay removed. Error codes:
// run_not_found; run_owned if a live process executes a named run; run_pruned if a named run, or another run
// with its id, is already pruned and held; conflict if another process changed the run.
func (k *Keeper) Forget(ctx context.Context, policy Policy, dryRun bool, runs ...string) (*Result, error) {
	chosen, err := chooser{k.store}.choose(ctx, policy, runs)
	if err != nil {
		return nil, err
	}
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all, others := k.holdings(list)
	var going []*runRefs
	var at []int // index in chosen
	for i, run := range chosen {
		component, err := refs.EscapeRun(run.RunID)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		h := all[component]
		// Skip the runs that the policy keeps, and the runs that another process has just removed.
		if h == nil || run.Kept != "" || h.tip.IsZero() {
			continue
		}
		if k.toHold(h).IsZero() {
			if len(runs) > 0 {
				return nil, k.heldAlready(ctx, h)
			}
			chosen[i].Kept = "another run with this id was pruned before, and is not collected"
			continue
		}
		going, at = append(going, h), append(at, i)
	}
	bytes, err := k.measure(ctx, going, all, others, func(i int, alone int64) { chosen[at[i]].Bytes = alone })
	if err != nil {
		return nil, timeline.Explain(err)
	}
	for i := 0; i < len(going) && !dryRun; i++ {
		if err := k.forget(ctx, going[i]); err != nil {
			return nil, err
		}
	}
	return &Result{Runs: chosen, Bytes: bytes}, nil
}

// measure returns the size on disk, in bytes, of the objects that only the given runs need. It calls the
// function each for every run, with the run's index in runs and the size of the objects that only this run
// needs. all and others are the results of holdings.
func (k *Keeper) measure(ctx context.Context, runs []*runRefs, all map[string]*runRefs, others []refs.Ref, each func(i int, alone int64)) (int64, error) {
	for _, h := range all {
		if !slices.Contains(runs, h) {
			others = append(others, h.refs...)
		}
	}
	s, err := k.survey(ctx, runs, others)
	if err != nil {
		return 0, err
	}
	for i := range runs {
		_, alone := s.run(i)
		each(i, alone.Bytes)
	}
	return s.together().Bytes, nil
}

// forget replaces the run h by its tombstone. In one transaction, it creates the tombstone and the ref that holds
// the run, and deletes the run's frame refs and its tip. It first ends commands that dead processes left, because no other command
// would find them, and notes the prune for `undo`. The index of texts goes, which has words of the run.
func (k *Keeper) forget(ctx context.Context, h *runRefs) error {
	if head, err := k.store.Head(ctx, h.id); err == nil { // the commands of an unreadable run are left to doctor
		claim.EndLeft(ctx, head, nil)
		if k.opts.Forgets != nil {
			k.opts.Forgets(ctx, head)
		}
	}
	batch := k.store.Objects().Begin()
	tip := k.toHold(h)
	stone, err := snapshot.Tombstone{Run: h.id, Tip: tip, AtMs: k.store.Now().UnixMilli()}.Add(batch)
	if err != nil {
		return timeline.Explain(err)
	}
	gone, err1 := refs.Gone(h.id)
	held, err2 := refs.Held(h.id)
	if err := errors.Join(err1, err2); err != nil {
		return timeline.Explain(err)
	}
	// Create refs before deleting any, so that a crash between two refs loses nothing.
	made := []refs.Update{{Name: gone, Old: h.gone, New: stone}}
	if h.held != tip {
		made = slices.Insert(made, 0, refs.Update{Name: held, Old: h.held, New: tip})
	}
	var updates []refs.Update
	for _, ref := range h.refs {
		if folder, _ := keptBy(ref.Name); folder == "_tip" || folder == "frames" {
			updates = append(updates, refs.Update{Name: ref.Name, Old: ref.ID})
		}
	}
	slices.SortStableFunc(updates, tipsLast) // delete the frames before the tip
	k.store.Here().Prune(h.id, stone)
	if err := k.store.Commit(ctx, batch, append(made, updates...)); err != nil {
		return err
	}
	if err := search.Remove(context.WithoutCancel(ctx), k.store); err != nil {
		k.store.Warn(fmt.Errorf("the search index still has words of the run: %w", err))
	}
	return nil
}

// toHold returns the entry that the ref for the pruned run h must hold: the newer one of the run's tip and the
// entry that is already held. If neither entry descends from the other, the held entry belongs to a different run,
// and toHold returns the zero id.
func (k *Keeper) toHold(h *runRefs) objstore.ID {
	switch {
	case h.held.IsZero(), timeline.Descends(k.store.Objects(), h.tip, h.held):
		return h.tip
	case timeline.Descends(k.store.Objects(), h.held, h.tip):
		return h.held
	}
	return objstore.ID{}
}

// heldAlready returns the error that the run h cannot be pruned, because a different run with its id is
// pruned and held.
func (k *Keeper) heldAlready(ctx context.Context, h *runRefs) error {
	return fault.New(fault.RunPruned, "another run %q was pruned before, and is not collected", h.id).
		Hint("`git smithers prune --collect` deletes the pruned run for good").
		Hint("%s", k.asAnother(ctx, h)).
		Hint("after that copy, `git smithers prune --undo %s` replaces the existing run by the pruned run", fault.Word(h.id)).
		Detail("runId", h.id)
}

// asAnother returns a hint with the command that copies the existing run h to another id, by a fetch from this
// repository.
func (k *Keeper) asAnother(ctx context.Context, h *runRefs) string {
	return fmt.Sprintf("`git smithers fetch %s %s --as %s` copies the existing run to another id",
		fault.Word(k.git.repo.CommonDir), fault.Word(h.id), fault.Word(timeline.FreeID(ctx, k.store, h.id, "")))
}

// isTip reports whether name is the ref of a tip.
func isTip(name refs.Name) bool {
	folder, _ := keptBy(name)
	return folder == "_tip"
}

// tipsLast compares two updates for a sort that puts the refs of tips last.
func tipsLast(a, b refs.Update) int {
	switch tipA, tipB := isTip(a.Name), isTip(b.Name); {
	case tipA == tipB:
		return 0
	case tipA:
		return 1
	}
	return -1
}

// named returns the runs in all whose ids are in runs, in the order of runs, each once. It considers only the runs
// that the function wanted accepts. If no accepted run has an id, named returns the error none(id). If accepted
// runs have ids that begin with that id, the error's only hint lists these longer ids.
func named(runs []string, all map[string]*runRefs, wanted func(*runRefs) bool, none func(run string) *fault.Error) ([]*runRefs, error) {
	var out []*runRefs
	for _, run := range runs {
		var found *runRefs
		var similar []string
		for _, h := range all {
			switch {
			case h.id == "" || !wanted(h):
			case h.id == run:
				found = h
			case run != "" && strings.HasPrefix(h.id, run):
				similar = append(similar, h.id)
			}
		}
		switch {
		case found == nil && len(similar) == 0:
			return nil, none(run)
		case found == nil:
			slices.Sort(similar)
			out := none(run)
			out.Hints = nil
			return nil, timeline.HintSimilar(out, similar)
		case !slices.Contains(out, found):
			out = append(out, found)
		}
	}
	return out, nil
}

// byID returns the runs in all that the function wanted accepts, sorted by ref component.
func byID(all map[string]*runRefs, wanted func(*runRefs) bool) []*runRefs {
	var out []*runRefs
	for _, h := range all {
		if wanted(h) {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *runRefs) int { return cmp.Compare(a.component, b.component) })
	return out
}

// frames returns the number of frames of the run with the given tip, or 0 if the tip is unreadable.
func (k *Keeper) frames(tip objstore.ID) int64 {
	entry, err := snapshot.ReadEntry(k.store.Objects(), tip)
	if err != nil {
		return 0
	}
	row, err := entry.RunRow()
	if err != nil {
		return 0
	}
	return row.Frame + 1
}
