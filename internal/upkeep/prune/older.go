package prune

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
	OlderDropped = "dropped" // DropOlder has moved the run's refs out of the way
	OlderBack    = "back"    // UndoDrop has moved the run's refs back
	OlderKept    = "kept"    // the run's refs were not moved; see OlderRun.Reason
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

// DropOlder moves all refs of runs in an older format out of the way, to refs/smithers/_older: tips, frame refs,
// tombstones, refs that hold pruned runs, and tracking refs of remotes. Until Collect deletes the moved refs, UndoDrop
// can move them back. The base commits of runs belong to no version of the format, and stay. With dryRun, DropOlder
// only returns the runs that it would drop.
//
// DropOlder moves each run in its own transaction. After an error or a crash, the earlier runs stay dropped,
// and no ref is lost. A run is kept if another run with its id was dropped before and is not collected. A
// process of an older version that executes the run fails at its next entry.
//
// Error codes: run_pruned, with the result for each run, if a run is kept; conflict if another process moved a
// ref.
func (k *Keeper) DropOlder(ctx context.Context, dryRun bool) (*Older, error) {
	return k.moveOlder(ctx, dryRun, olderMove{k.olderRuns, (*olderRun).drop, fault.RunPruned})
}

// UndoDrop moves the refs back that DropOlder moved. A run is kept out of the way if another run, or a
// tombstone, has its id by now. If a fetch has recreated a tracking ref, both the new and the moved ref stay
// where they are. With dryRun, UndoDrop only returns the expected result.
//
// Error codes: run_exists, with the result for each run, if a run is kept; conflict if another process moved a
// ref.
func (k *Keeper) UndoDrop(ctx context.Context, dryRun bool) (*Older, error) {
	return k.moveOlder(ctx, dryRun, olderMove{k.droppedRuns, (*olderRun).comeBack, fault.RunExists})
}

// olderMove is the move that DropOlder or UndoDrop makes with each run.
type olderMove struct {
	find func([]refs.Ref) []*olderRun // finds the runs to move among the repository's refs
	// plan returns the updates that move a run, with the run's new state and a reason. refIDs has the values of the
	// repository's refs by name.
	plan    func(run *olderRun, refIDs map[refs.Name]objstore.ID) (moves []refs.Update, state, reason string, err error)
	refusal fault.Code // the code of the error if a run is kept
}

// moveOlder makes a move, one transaction for each run. With dryRun, it moves nothing. The result has the state and the
// reason that move.plan returns for each run. If move.plan or a transaction fails, moveOlder stops and returns no
// result. If a run was kept, it returns the result with the error of Older.refusal.
func (k *Keeper) moveOlder(ctx context.Context, dryRun bool, move olderMove) (*Older, error) {
	list, err := k.git.ourRefs(ctx)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	refIDs := make(map[refs.Name]objstore.ID)
	for _, ref := range list {
		refIDs[ref.Name] = ref.ID
	}
	out := &Older{Runs: []OlderRun{}}
	for _, run := range move.find(list) {
		moves, state, reason, err := move.plan(run, refIDs)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if !dryRun && len(moves) > 0 {
			if err := k.store.Commit(ctx, k.store.Objects().Begin(), moves); err != nil {
				return nil, err
			}
		}
		out.Runs = append(out.Runs, OlderRun{RunID: run.id, State: state, Refs: run.names(), Reason: reason})
	}
	return out, out.refusal(move.refusal)
}

// refusal returns the error about the first run that was kept, or nil if no run was kept. code is the error's code:
// run_pruned after DropOlder, and run_exists after UndoDrop.
func (o *Older) refusal(code fault.Code) error {
	i := slices.IndexFunc(o.Runs, func(run OlderRun) bool { return run.State == OlderKept })
	if i < 0 {
		return nil
	}
	run := o.Runs[i]
	if code == fault.RunPruned {
		return fault.New(code, "run %q was not dropped: %s", run.RunID, run.Reason).
			Hint("`git smithers prune --collect` permanently deletes the run that was dropped before; then drop this run").Detail("runs", o.Runs)
	}
	return fault.New(code, "run %q was not brought back: %s", run.RunID, run.Reason).
		Hint("%s", keepCopy(run)).Detail("runs", o.Runs)
}

// keepCopy returns a hint with the command that saves a copy of a run that is out of the way. The command names
// the ref of the run's tip or, if the tip is not among the refs, the last ref of the run. If the ref has an
// invalid name, the hint only says where the refs are.
func keepCopy(run OlderRun) string {
	name := run.Refs[len(run.Refs)-1]
	if i := slices.IndexFunc(run.Refs, isTip); i >= 0 {
		name = run.Refs[i]
	}
	older, err := refs.Older(name)
	if err != nil {
		return "the refs under " + refs.OlderFolder + " hold the run"
	}
	return fmt.Sprintf("`git bundle create %s %s` keeps a copy of the run",
		fault.Word(componentOf(older)+".bundle"), fault.Word(string(older)))
}

// The reasons why a run is kept.
const (
	droppedBefore = "another run with this id was dropped before, and is not collected"
	existsAgain   = "another run, or a tombstone, has the run's id"
)

// olderRun is a run in an older format with its refs.
type olderRun struct {
	component, id string
	refs          []refs.Ref // with the names that they have while the run is not dropped; sorted
}

// names returns the names of the run's refs.
func (r *olderRun) names() []refs.Name {
	names := make([]refs.Name, len(r.refs))
	for i, ref := range r.refs {
		names[i] = ref.Name
	}
	return names
}

// drop returns the updates that move the run's refs out of the way, with the run's new state and a reason. refIDs has
// the values of the repository's refs by name. The updates that create refs come first, and the update that deletes the
// tip comes last, so that a crash between two updates loses no ref. If another run with the same id was dropped before,
// drop returns OlderKept with the reason, and no updates. Otherwise, the reason is "".
func (r *olderRun) drop(refIDs map[refs.Name]objstore.ID) (moves []refs.Update, state, reason string, err error) {
	var deleted []refs.Update
	for _, ref := range r.refs {
		older, err := refs.Older(ref.Name)
		if err != nil {
			return nil, "", "", err
		}
		switch at := refIDs[older]; at {
		case ref.ID: // an interrupted DropOlder has already created the ref
		case objstore.ID{}:
			moves = append(moves, refs.Update{Name: older, New: ref.ID})
		default: // another run has the ref
			return nil, OlderKept, droppedBefore, nil
		}
		deleted = append(deleted, refs.Update{Name: ref.Name, Old: ref.ID})
	}
	slices.SortStableFunc(deleted, tipsLast)
	return append(moves, deleted...), OlderDropped, "", nil
}

// comeBack returns the updates that move the run's refs back, with the run's new state and a reason. refIDs has
// the values of the repository's refs by name. There are three results:
//   - If another run or a tombstone has the run's id, comeBack returns OlderKept with the reason, and no
//     updates.
//   - If a fetch has recreated tracking refs, comeBack leaves these refs out. The reason has their number.
//   - Otherwise, all refs move back, and the reason is "".
func (r *olderRun) comeBack(refIDs map[refs.Name]objstore.ID) (moves []refs.Update, state, reason string, err error) {
	for _, folder := range []string{refs.TipsFolder, refs.GoneFolder} {
		name := refs.Name(folder + r.component)
		if at := refIDs[name]; !at.IsZero() && !slices.Contains(r.refs, refs.Ref{Name: name, ID: at}) {
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
		switch at := refIDs[ref.Name]; {
		case at.IsZero():
			moves = append(moves, refs.Update{Name: ref.Name, New: ref.ID})
		// A fetch has recreated this tracking ref with another value.
		case at != ref.ID && strings.HasPrefix(string(ref.Name), refs.RemotesFolder):
			stay++
			continue
		case at != ref.ID:
			return nil, OlderKept, existsAgain, nil
		}
		deleted = append(deleted, refs.Update{Name: older, Old: ref.ID})
	}
	if stay > 0 {
		reason = "a fetch has already recreated " + plain.Count(stay, "tracking ref")
	}
	return append(moves, deleted...), OlderBack, reason, nil
}

// olderRuns returns the runs in an older format, sorted by component, each with its refs in list. It leaves out a ref
// that cannot be moved out of the way, such as a base commit.
func (k *Keeper) olderRuns(list []refs.Ref) []*olderRun {
	return groupOlder(list, func(ref refs.Ref) (refs.Name, string, bool) {
		if _, err := refs.Older(ref.Name); err != nil {
			return "", "", false
		}
		older := snapshot.OlderFormat(k.store.Objects(), ref.ID)
		if older == nil {
			return "", "", false
		}
		return ref.Name, older.Run, true
	})
}

// droppedRuns returns the runs in list that DropOlder moved out of the way, sorted by component. Their refs
// have the names from before the move.
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

// groupOlder groups the refs in list by run, and returns the runs sorted by component. identify returns three values
// for a ref: the name of the ref before DropOlder moved it, the run id in the ref's commit or "", and whether
// groupOlder uses the ref.
func groupOlder(list []refs.Ref, identify func(refs.Ref) (name refs.Name, id string, ok bool)) []*olderRun {
	runs := make(map[string]*olderRun)
	for _, ref := range list {
		name, id, ok := identify(ref)
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

// componentOf returns the ref component of the run to which the ref name belongs. For a tip or a frame ref, the
// name has the component at a fixed place. For any other name, the component is the last element.
func componentOf(name refs.Name) string {
	if component, _, err := name.Split(); err == nil {
		return component
	}
	return path.Base(string(name))
}

// heldOlder returns the runs that DropOlder moved out of the way, for Collect and DiskUsage. Their refs have the
// names in refs.OlderFolder. The field again is set in each result, because another run may have the same id now.
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
