package prune

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// collectLock is the name of the file, in the store's private folder, that Collect locks.
const collectLock = "collect.lock"

// collectNote is the name of the file, in the store's private folder, with the ids of the objects that Collect may
// delete. After a crash, the next Collect reads the file, because no ref leads to these objects any more.
const collectNote = "collecting"

// collectNote returns the file with the ids of the objects that Collect may delete.
func (k *Keeper) collectNote() idFile { return idFile(filepath.Join(k.store.Private(), collectNote)) }

// Collect deletes the objects that only forgotten runs need. This cannot be undone. Collect keeps every object that a
// ref, a reflog, a git index or a HEAD needs, and the objects to which unreachable objects of the user refer. It also
// keeps unneeded objects that never belonged to a run. With dryRun, Collect takes no lock, deletes nothing and returns
// the expected result.
//
// Collect deletes the refs of all forgotten runs in one transaction before it deletes objects. After a crash or an
// error, the next Collect deletes the remaining objects. The error code is locked if another process collects, or if
// git is changing an index, and precious_objects if extensions.preciousObjects is set or a
// known repository borrows objects. If the error comes after the refs were deleted, Collect also returns the result.
func (k *Keeper) Collect(ctx context.Context, dryRun bool) (*Result, error) {
	return k.collect(ctx, dryRun, func(string) bool { return true })
}

// CollectRuns is Collect for the given forgotten runs alone. runs are whole ids; it ignores runs that are not forgotten.
func (k *Keeper) CollectRuns(ctx context.Context, runs ...string) (*Result, error) {
	return k.collect(ctx, false, func(run string) bool { return slices.Contains(runs, run) })
}

// collect is Collect for the forgotten runs that are wanted.
func (k *Keeper) collect(ctx context.Context, dryRun bool, wanted func(run string) bool) (*Result, error) {
	lock := flock.New(filepath.Join(k.store.Private(), collectLock))
	if !dryRun {
		if err := k.mayDelete(); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(k.store.Private(), 0o777); err != nil {
			return nil, timeline.Explain(err)
		}
		if locked, err := lock.TryLock(); err != nil {
			return nil, timeline.Explain(err)
		} else if !locked {
			return nil, fault.New(fault.Locked, "another process is collecting pruned runs").
				Hint("try again when that process has ended")
		}
		defer lock.Close() //nolint:errcheck // if Close fails, the end of the process unlocks the file
	}
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all, others := k.holdings(list)
	going := slices.DeleteFunc(toCollect(all), func(h *runRefs) bool { return !wanted(h.id) })
	out := &Result{Runs: []PrunedRun{}, Partial: k.store.Repo().Config.IsPartial()}
	for _, h := range going {
		out.Runs = append(out.Runs, PrunedRun{RunID: h.id, Frames: k.frames(h.held)})
	}
	if len(going) > 0 {
		each := func(i int, alone int64) { out.Runs[i].Bytes = alone }
		if out.Bytes, err = k.measure(ctx, going, all, others, each); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	if dryRun {
		return out, nil
	}
	candidates, err := k.candidates(ctx, going)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if err := k.letGo(ctx, going); err != nil {
		return nil, timeline.Explain(err)
	}
	if err := k.forgetSecrets(going, all); err != nil {
		return out, err
	}
	if len(candidates) == 0 {
		return out, nil
	}
	return out, timeline.Explain(k.free(ctx, candidates, out))
}

// mayDelete returns precious_objects if the repository forbids to delete objects, or if another repository has noted that it borrows
// them, such as one that git clone --shared made.
func (k *Keeper) mayDelete() error {
	loans, err := k.store.Loans()
	if err != nil {
		return timeline.Explain(err)
	}
	if len(loans) > 0 {
		loan := loans[0]
		no := fault.New(fault.PreciousObjects, "%s borrows objects from this repository", loan.Borrower)
		if loan.Absent {
			return no.Hint("it is not there now, but may be on another disk; if it was removed: `rm %s`", fault.Word(loan.Note))
		}
		return no.Hint("`git -C %s repack -a -d` gives it its own objects; then remove its objects/info/alternates", fault.Word(filepath.Dir(loan.Borrower)))
	}
	precious, err := k.store.Repo().Config.Bool("extensions.preciousObjects", false)
	if err != nil || !precious {
		return timeline.Explain(err)
	}
	return fault.New(fault.PreciousObjects, "this repository keeps all objects: extensions.preciousObjects is set").
		Hint("another repository may need them, such as one made by `git clone --shared`; if none does: `git config --unset extensions.preciousObjects`")
}

// toCollect returns the runs to collect: the forgotten runs. all is
// the first result of holdings. Each returned run has the refs that keep its objects: the ref that holds the run, frame
// refs left by a crash, and tracking refs of remotes. A new run may have the id of a forgotten run. Then all has one
// item for both runs. toCollect moves the ref that holds the forgotten run from this item to the result, and leaves the
// other refs to the new run.
func toCollect(all map[string]*runRefs) []*runRefs {
	out := byID(all, func(h *runRefs) bool {
		return h.tip.IsZero() && len(h.refs) > 0 && (!h.held.IsZero() || !h.gone.IsZero())
	})
	for _, h := range byID(all, func(h *runRefs) bool { return !h.tip.IsZero() && !h.held.IsZero() && h.tip != h.held }) {
		// A new run has the id of this held run. The held run is collected alone, without the refs of the new run.
		beside := &runRefs{component: h.component, id: h.id, held: h.held, gone: h.gone, again: true}
		for i, ref := range h.refs {
			if folder, _ := keptBy(ref.Name); folder == "_held" {
				beside.refs, h.refs = []refs.Ref{ref}, slices.Delete(h.refs, i, i+1)
				break
			}
		}
		out = append(out, beside)
	}
	return out
}

// candidates returns the objects that Collect may delete. These are the objects that runs reach and the user's commits
// do not reach, and the objects that an earlier Collect did not delete. candidates records all these objects in the
// collectNote for the next Collect. If runs is empty, candidates returns only the objects of the earlier Collect, and
// records nothing.
func (k *Keeper) candidates(ctx context.Context, runs []*runRefs) (map[objstore.ID]struct{}, error) {
	ids, err := k.collectNote().read()
	if err != nil || len(runs) == 0 {
		return ids, err
	}
	var roots []objstore.ID
	for _, h := range runs {
		roots = append(roots, h.roots()...)
	}
	err = k.git.walk(ctx, roots, nil, append([]string{"--not"}, userRefs...), func(id objstore.ID, _ string) { ids[id] = struct{}{} })
	if err == nil {
		err = k.collectNote().write(ids)
	}
	return ids, err
}

// letGo deletes the refs of runs in one transaction. If a power cut has removed the tombstone of a run, the
// transaction also recreates the tombstone. Before that, letGo records the entries of each run for PruneRemote,
// and notes each prune for `undo`. If there is no ref to delete or to create, letGo changes no ref.
func (k *Keeper) letGo(ctx context.Context, runs []*runRefs) error {
	batch := k.store.Objects().Begin()
	var made, deleted []refs.Update
	for _, h := range runs {
		if err := (pastRuns{k.store}).record(ctx, h); err != nil {
			return err
		}
		stone := h.gone
		if stone.IsZero() && !h.again { // a power cut has removed the tombstone
			var err error
			stone, err = snapshot.Tombstone{Run: h.id, Tip: h.held, AtMs: k.store.Now().UnixMilli()}.Add(batch)
			if err != nil {
				return err
			}
			name, err := refs.Gone(h.id)
			if err != nil {
				return err
			}
			made = append(made, refs.Update{Name: name, New: stone})
		}
		if !stone.IsZero() {
			k.store.Here().Prune(h.id, stone)
		}
		for _, ref := range h.refs {
			deleted = append(deleted, refs.Update{Name: ref.Name, Old: ref.ID})
		}
	}
	if len(made)+len(deleted) == 0 {
		return nil
	}
	return k.store.Commit(ctx, batch, append(made, deleted...))
}

// forgetSecrets removes the secrets of the collected runs in going that no other run in all needs.
func (k *Keeper) forgetSecrets(going []*runRefs, all map[string]*runRefs) error {
	var gone, left []objstore.ID
	for _, h := range all {
		tips := []objstore.ID{h.tip, h.held}
		if slices.Contains(going, h) {
			gone = append(gone, tips...)
		} else {
			left = append(left, tips...)
		}
	}
	none := func(tip objstore.ID) bool { return tip.IsZero() }
	gone, left = slices.DeleteFunc(gone, none), slices.DeleteFunc(left, none)
	return timeline.ForgetSecrets(k.store, gone, left)
}

// free deletes the candidates that nothing needs. It sets out.Bytes to the number of freed bytes. It sets out.Left
// to the size on disk of the unneeded objects that could not be deleted. If all unneeded objects are deleted, free
// also deletes the record of candidates. Otherwise, the record stays for the next Collect.
func (k *Keeper) free(ctx context.Context, candidates map[objstore.ID]struct{}, out *Result) error {
	need := needFinder{k.git}
	// then has the roots from which Choose found the needed objects.
	var then []objstore.ID
	var dropped map[objstore.ID]struct{}
	result, err := k.store.Objects().Drop(ctx, objstore.DropRequest{
		// Choose removes the objects that are still needed from a copy of candidates.
		Choose: func(ctx context.Context) (map[objstore.ID]struct{}, error) {
			if err := need.awaitGit(ctx); err != nil {
				return nil, err
			}
			k.progress("reading the objects that are still needed", 0, 0)
			dropped = maps.Clone(candidates)
			var err error
			then, err = need.keepNeeded(ctx, dropped)
			return dropped, err
		},
		// Still checks shortly before the deletion that no new ref needs the objects.
		Still: func(ctx context.Context, ids map[objstore.ID]struct{}) (bool, error) {
			return need.unneeded(ctx, then, ids)
		},
	})
	if err != nil {
		return err
	}
	// The commit-graph may still list the deleted commits.
	if err := timeline.RenewCommitGraph(ctx, k.store); err != nil {
		return err
	}
	out.Bytes = result.BytesBefore - result.BytesAfter
	err = k.git.sizes(ctx, slices.Collect(maps.Keys(dropped)), func(_ objstore.ID, size int64) { out.Left += size })
	if err != nil || result.Left > 0 {
		return err
	}
	return k.collectNote().remove()
}
