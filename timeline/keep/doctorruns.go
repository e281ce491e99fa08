package keep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runs looks at each run: whether all that it needs is there, and whether its tip and its
// frame refs agree. As long as files are damaged that hold objects, nobody can tell what
// is lost: most of it comes back when they are mended.
func (e *examination) runs(ctx context.Context) error {
	if e.lacksObjects() {
		return nil
	}
	// The entries before the refs are looked at once more: a run that is made meanwhile has
	// a tip by then.
	if e.entries == nil {
		if err := e.readEntries(ctx); err != nil {
			return err
		}
	}
	var all []objstore.ID
	var own []refs.Item
	for _, item := range e.refs.Items {
		if item.Ours && item.Broken == nil && (isIn(item.Name, refs.TipsFolder) || isIn(item.Name, refs.HeldFolder)) {
			own = append(own, item)
			all = append(all, item.ID)
		}
	}
	lost, err := e.lostOf(ctx, all...)
	if err != nil {
		return err
	}
	hit := make(map[string]bool)
	for i, item := range own {
		e.progress("runs", i, len(own))
		if len(lost) > 0 {
			of, err := e.lostOf(ctx, item.ID)
			if err != nil {
				return err
			}
			if len(of) > 0 {
				hit[runOf(item.Name)] = true
				if err := e.missing(ctx, item, of); err != nil {
					return err
				}
				continue
			}
		}
		if isIn(item.Name, refs.TipsFolder) {
			if err := e.frames(ctx, item); err != nil {
				return err
			}
		}
	}
	return e.histories(ctx, hit)
}

// lacksObjects reports whether files are damaged that hold objects.
func (e *examination) lacksObjects() bool {
	return slices.ContainsFunc(e.found, func(f Finding) bool { return f.Kind == DamagedPack || f.Kind == DamagedObject })
}

// histories has every run verified. What is wrong although all objects are there, nobody
// can mend.
func (e *examination) histories(ctx context.Context, hit map[string]bool) error {
	report, err := e.store.Verify(ctx)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		if p.Code == fault.BrokenRef || hit[p.Run] {
			continue // found by themselves
		}
		where := p.Run
		if p.Frame != nil {
			where = fmt.Sprintf("%s:%d", p.Run, *p.Frame)
		}
		e.note(Finding{Kind: WrongHistory, Where: where, What: p.What}, nil)
	}
	return nil
}

// missing notes that a run lacks objects, and who has them.
func (e *examination) missing(ctx context.Context, item refs.Item, lost []objstore.ID) error {
	run := runOf(item.Name)
	f := Finding{
		Kind: MissingObject, Where: run,
		What: fmt.Sprintf("%s cannot be read, %v for one", counted(len(lost), "object"), lost[0]),
	}
	tipLost := slices.Contains(lost, item.ID)
	having := e.remotesOf(item.Name)
	if len(having) > 0 {
		f.Repair = "fetches what is missing again from " + strings.Join(having, " or ")
	} else if having = e.store.Remotes(); len(having) > 0 && !tipLost {
		f.Repair = "looks whether it is at " + strings.Join(having, " or ") + ", and fetches it again"
	}
	if f.Repair != "" {
		e.note(f, func(ctx context.Context) error { return e.fetchAgain(ctx, item, having) })
		return nil
	}
	if !tipLost {
		f.What += "; a clone that has the run can give it back, as a remote"
		e.note(f, nil)
		return nil
	}
	f.Kind, f.Where, f.What = LostTip, string(item.Name), fmt.Sprintf("%v, which the ref is at, cannot be read", item.ID)
	newest, err := e.newestEntry(ctx, run)
	if err != nil || newest == nil {
		e.note(f, nil)
		return err
	}
	f.Repair = fmt.Sprintf("moves the ref back to %v, the run's newest entry in this repository", newest.ID)
	e.note(f, func(ctx context.Context) error { return e.moveBack(ctx, item, newest.ID) })
	return nil
}

// moveBack moves a tip from an entry that is not there to one that is, and writes down
// where it was.
func (k *Keeper) moveBack(ctx context.Context, item refs.Item, to objstore.ID) error {
	if err := k.writeDown(item.Name, item.ID); err != nil {
		return err
	}
	return k.parts.Refs.Apply(ctx, refs.Update{Name: item.Name, Old: item.ID, New: to})
}

// frames compares the frame refs of a run with its chain. It reads them before the tip:
// a run that goes on meanwhile has a tip that knows them.
func (e *examination) frames(ctx context.Context, tip refs.Item) error {
	entry, err := snapshot.ReadEntry(e.parts.Objects, tip.ID)
	if err != nil {
		return nil //nolint:nilerr // it is there and no entry: verify says so
	}
	run := entry.Run // which the name of the ref may be a hash of
	list, err := e.parts.Refs.Frames(ctx, run)
	if err != nil && !errors.Is(err, refs.ErrBroken) {
		return err
	}
	if tip.ID, err = e.parts.Refs.Resolve(ctx, tip.Name); err != nil {
		return ignoreNotFound(err)
	}
	if entry, err = snapshot.ReadEntry(e.parts.Objects, tip.ID); err != nil {
		return nil //nolint:nilerr // the same
	}
	row, err := entry.RunRow()
	if err != nil || row.ID != entry.Run {
		return nil //nolint:nilerr // the same
	}
	chain, err := e.framesFrom(ctx, entry)
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	var ahead *refs.FrameRef
	for _, ref := range list {
		switch right := chain[ref.Frame]; {
		case right == ref.ID:
		case ref.Frame > row.Frame && e.descends(ref.ID, tip.ID):
			ahead = &ref
		default:
			e.wrongFrame(run, tip.ID, ref, right)
		}
	}
	if ahead != nil {
		e.behind(tip, *ahead)
	}
	return e.gaps(row.ID, list, chain)
}

// framesFrom is the frames of a run's chain from an entry on; with an error, as far as
// the chain goes.
func (k *Keeper) framesFrom(ctx context.Context, tip *snapshot.Entry) (map[int64]objstore.ID, error) {
	chain := make(map[int64]objstore.ID)
	run, err := k.store.Frames(ctx, tip, objstore.ID{})
	if run != nil {
		for _, ref := range run.Frames {
			chain[ref.Frame] = ref.ID
		}
	}
	return chain, err
}

// behind notes a tip that one of its frame refs goes on from.
func (e *examination) behind(tip refs.Item, ahead refs.FrameRef) {
	e.note(Finding{
		Kind: TipBehind, Where: string(tip.Name), What: fmt.Sprintf("the run has frame %d, and its tip is before that", ahead.Frame),
		Repair: fmt.Sprintf("moves the tip on to frame %d", ahead.Frame),
	}, func(ctx context.Context) error {
		return e.parts.Refs.Apply(ctx, refs.Update{Name: tip.Name, Old: tip.ID, New: ahead.ID})
	})
}

// wrongFrame notes a frame ref that is not where the chain says; right is zero where the
// chain has no such frame.
func (e *examination) wrongFrame(run string, tip objstore.ID, ref refs.FrameRef, right objstore.ID) {
	name, err := refs.Frame(run, ref.Frame)
	if err != nil {
		return
	}
	f := Finding{
		Kind: WrongFrameRef, Where: string(name), What: fmt.Sprintf("it is at %v, which is not that frame in the run's chain", ref.ID),
		Repair: fmt.Sprintf("moves the ref to %v", right),
	}
	if right.IsZero() {
		f.Repair = "removes the ref: the run has no such frame"
	}
	e.note(f, func(ctx context.Context) error {
		if err := e.keepReached(ctx, ref.ID, tip); err != nil {
			return err
		}
		if err := e.writeDown(name, ref.ID); err != nil {
			return err
		}
		return e.parts.Refs.Apply(ctx, refs.Update{Name: name, Old: ref.ID, New: right})
	})
}

// gaps notes the frames without a ref that should have one. A ref that is broken is a finding by itself.
func (e *examination) gaps(run string, list []refs.FrameRef, chain map[int64]objstore.ID) error {
	lacking, err := e.store.FramesWithoutRefs(run, list, chain)
	if err != nil {
		return err
	}
	var updates []refs.Update
	for _, frame := range lacking {
		if name, err := refs.Frame(run, frame.Frame); err == nil && !e.isBroken(name) {
			updates = append(updates, refs.Update{Name: name, New: frame.ID})
		}
	}
	if len(updates) == 0 {
		return nil
	}
	e.note(Finding{
		Kind: MissingFrames, Where: run, What: counted(len(updates), "frame") + " that should have a ref have none",
		Repair: "makes the refs again",
	}, func(ctx context.Context) error {
		const atOnce = 200
		for chunk := range slices.Chunk(updates, atOnce) {
			if err := e.parts.Refs.Apply(ctx, chunk...); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// isBroken reports whether the file of a ref is empty or holds garbage.
func (e *examination) isBroken(name refs.Name) bool {
	at, found := slices.BinarySearchFunc(e.refs.Items, name, func(item refs.Item, name refs.Name) int { return cmp.Compare(item.Name, name) })
	return found && e.refs.Items[at].Broken != nil
}
