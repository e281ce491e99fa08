package keep

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// States of a run in an older format.
const (
	OlderDropped = "dropped" // its refs are out of the way
	OlderBack    = "back"    // its refs are back
	OlderKept    = "kept"    // its refs are where they were; see OlderRun.Reason
)

// OlderRun is a run in an older format that was dropped, brought back or kept.
type OlderRun struct {
	RunID  string      `json:"runId"`
	State  string      `json:"state"`
	Refs   []refs.Name `json:"refs"` // the names that the run's refs have while it is not dropped; sorted
	Reason string      `json:"reason,omitempty"`
}

// Older is the result of dropping runs in an older format, or of bringing them back. Runs is never nil; it is sorted by
// run id.
type Older struct {
	Runs []OlderRun `json:"runs"`
}

// DropOlder moves all refs of runs in an older format out of the way: tips, frames, tombstones, what holds pruned runs,
// and tracking refs of remotes. The refs are held under refs/smithers/_older, so that UndoDrop brings them back, until
// Collect deletes them. The base commits of runs are in no version of the format, and stay. With dryRun, DropOlder
// returns the runs that it would drop.
//
// Each run is moved in its own transaction; after an error or a crash, the earlier runs stay dropped, and no ref is
// lost. The run is kept if another run of its id was dropped before and is not collected. A process of an older version
// that executes the run fails at its next entry. Error codes: run_pruned, with the result for each run, if a run is
// kept; conflict.
func (k *Keeper) DropOlder(ctx context.Context, dryRun bool) (*Older, error) {
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	held := make(map[refs.Name]objstore.ID)
	for _, ref := range list {
		held[ref.Name] = ref.ID
	}
	return k.moveOlder(ctx, k.olderRuns(list), dryRun, func(run *olderRun) (moves []refs.Update, state, why string, err error) {
		return run.drop(held)
	})
}

// UndoDrop brings the refs back that DropOlder moved. A run is kept out of the way if another run, or
// a tombstone, has its id by now.
// A tracking ref that a fetch has made again stays, and the held one with it. Error codes: run_exists, with the result
// for each run, if a run is kept; conflict.
func (k *Keeper) UndoDrop(ctx context.Context, dryRun bool) (*Older, error) {
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	now := make(map[refs.Name]objstore.ID)
	for _, ref := range list {
		now[ref.Name] = ref.ID
	}
	return k.moveOlder(ctx, k.droppedRuns(list), dryRun, func(run *olderRun) (moves []refs.Update, state, why string, err error) {
		return run.comeBack(now)
	})
}

// moveOlder applies the moves that plan returns for each run, and returns the result.
func (k *Keeper) moveOlder(ctx context.Context, runs []*olderRun, dryRun bool, plan func(*olderRun) (moves []refs.Update, state, why string, err error)) (*Older, error) {
	out := &Older{Runs: []OlderRun{}}
	for _, run := range runs {
		moves, state, why, err := plan(run)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if !dryRun && len(moves) > 0 {
			if err := k.store.Commit(ctx, k.store.Objects().Begin(), moves); err != nil {
				return nil, err
			}
		}
		out.Runs = append(out.Runs, OlderRun{RunID: run.id, State: state, Refs: run.names(), Reason: why})
	}
	return out, out.refusal()
}

// refusal returns the error about the first run that was kept; nil if none was.
func (o *Older) refusal() error {
	i := slices.IndexFunc(o.Runs, func(run OlderRun) bool { return run.State == OlderKept })
	if i < 0 {
		return nil
	}
	run := o.Runs[i]
	if run.Reason == droppedBefore {
		return fault.New(fault.RunPruned, "run %q was not dropped: %s", run.RunID, run.Reason).
			Hint("`git smithers prune --collect` frees that one for good; then drop again").Detail("runs", o.Runs)
	}
	return fault.New(fault.RunExists, "run %q was not brought back: %s", run.RunID, run.Reason).
		Hint("%s", keepCopy(run)).Detail("runs", o.Runs)
}

// keepCopy returns the hint to keep a copy of a run that is out of the way.
func keepCopy(run OlderRun) string {
	older, err := refs.Older(run.Refs[len(run.Refs)-1])
	for _, name := range run.Refs {
		if isTip(name) == 1 {
			older, err = refs.Older(name)
		}
	}
	if err != nil {
		return "the refs under " + refs.OlderFolder + " keep it"
	}
	return fmt.Sprintf("`git bundle create %s %s` keeps a copy of the run",
		fault.Word(componentOf(older)+".bundle"), fault.Word(string(older)))
}

// The reasons why a run is kept.
const (
	droppedBefore = "another run of this id was dropped before, and is not collected"
	existsAgain   = "another run, or a tombstone, has its id"
)

// olderRun is a run in an older format with its refs.
type olderRun struct {
	component, id string
	refs          []refs.Ref // under the names that they have while the run is not dropped; sorted
}

// names returns the names of the run's refs.
func (r *olderRun) names() []refs.Name {
	names := make([]refs.Name, len(r.refs))
	for i, ref := range r.refs {
		names[i] = ref.Name
	}
	return names
}

// drop returns the updates that move the run's refs out of the way. The refs under which they are held come first, and
// the tip is deleted last, so that a crash between two refs loses none.
func (r *olderRun) drop(held map[refs.Name]objstore.ID) (moves []refs.Update, state, why string, err error) {
	var deleted []refs.Update
	for _, ref := range r.refs {
		older, err := refs.Older(ref.Name)
		if err != nil {
			return nil, "", "", err
		}
		switch at := held[older]; at {
		case ref.ID:
		case objstore.ID{}:
			moves = append(moves, refs.Update{Name: older, New: ref.ID})
		default:
			return nil, OlderKept, droppedBefore, nil
		}
		deleted = append(deleted, refs.Update{Name: ref.Name, Old: ref.ID})
	}
	slices.SortStableFunc(deleted, func(a, b refs.Update) int { return cmp.Compare(isTip(a.Name), isTip(b.Name)) })
	return append(moves, deleted...), OlderDropped, "", nil
}

// comeBack returns the updates that bring the run's refs back. now has all refs.
func (r *olderRun) comeBack(now map[refs.Name]objstore.ID) (moves []refs.Update, state, why string, err error) {
	for _, folder := range []string{refs.TipsFolder, refs.GoneFolder} {
		name := refs.Name(folder + r.component)
		if at := now[name]; !at.IsZero() && !slices.Contains(r.refs, refs.Ref{Name: name, ID: at}) {
			return nil, OlderKept, existsAgain, nil
		}
	}
	var deleted []refs.Update
	stay := 0
	for _, ref := range r.refs {
		older, err := refs.Older(ref.Name)
		if err != nil {
			return nil, "", "", err
		}
		switch at := now[ref.Name]; {
		case at.IsZero():
			moves = append(moves, refs.Update{Name: ref.Name, New: ref.ID})
		case at != ref.ID && strings.HasPrefix(string(ref.Name), refs.RemotesFolder):
			stay++
			continue
		case at != ref.ID:
			return nil, OlderKept, existsAgain, nil
		}
		deleted = append(deleted, refs.Update{Name: older, Old: ref.ID})
	}
	if stay > 0 {
		why = plain.Count(stay, "tracking ref") + " was made again by a fetch, and stays"
	}
	return append(moves, deleted...), OlderBack, why, nil
}

// olderRuns returns the runs with refs to commits in an older format, sorted by component.
func (k *Keeper) olderRuns(list []refs.Ref) []*olderRun {
	return groupOlder(list, func(ref refs.Ref) (refs.Name, string, bool) {
		older := snapshot.OlderFormat(k.store.Objects(), ref.ID)
		if older == nil {
			return "", "", false
		}
		_, err := refs.Older(ref.Name)
		return ref.Name, older.Run, err == nil
	})
}

// droppedRuns returns the runs that DropOlder moved out of the way, sorted by component.
func (k *Keeper) droppedRuns(list []refs.Ref) []*olderRun {
	return groupOlder(list, func(ref refs.Ref) (refs.Name, string, bool) {
		name, ok := ref.Name.BeforeOlder()
		if !ok {
			return "", "", false
		}
		id := ""
		if older := snapshot.OlderFormat(k.store.Objects(), ref.ID); older != nil {
			id = older.Run
		}
		return name, id, true
	})
}

// groupOlder groups refs by run. of returns the name that a ref has while its run is not dropped, and the run id in its
// commit; ok is false for a ref that is left out.
func groupOlder(list []refs.Ref, of func(refs.Ref) (name refs.Name, id string, ok bool)) []*olderRun {
	runs := make(map[string]*olderRun)
	for _, ref := range list {
		name, id, ok := of(ref)
		if !ok {
			continue
		}
		component := componentOf(name)
		run := runs[component]
		if run == nil {
			run = &olderRun{component: component, id: cmp.Or(id, component)}
			if plainID, known, err := refs.UnescapeRun(component); err == nil && known {
				run.id = plainID
			}
			runs[component] = run
		}
		run.refs = append(run.refs, refs.Ref{Name: name, ID: ref.ID})
	}
	out := make([]*olderRun, 0, len(runs))
	for _, run := range runs {
		slices.SortFunc(run.refs, func(a, b refs.Ref) int { return strings.Compare(string(a.Name), string(b.Name)) })
		out = append(out, run)
	}
	slices.SortFunc(out, func(a, b *olderRun) int { return cmp.Compare(a.component, b.component) })
	return out
}

// componentOf returns the run's component of the name of a run's ref.
func componentOf(name refs.Name) string {
	if component, _, err := name.Split(); err == nil {
		return component
	}
	return path.Base(string(name))
}

// heldOlder returns the runs that DropOlder moved out of the way, with the refs that hold them, for Collect and
// DiskUsage.
func (k *Keeper) heldOlder(list []refs.Ref) []*runRefs {
	var out []*runRefs
	for _, run := range k.droppedRuns(list) {
		h := &runRefs{component: run.component, id: run.id, again: true, older: true}
		for _, ref := range run.refs {
			if older, err := refs.Older(ref.Name); err == nil { // BeforeOlder is its inverse
				h.refs = append(h.refs, refs.Ref{Name: older, ID: ref.ID})
			}
		}
		out = append(out, h)
	}
	return out
}
