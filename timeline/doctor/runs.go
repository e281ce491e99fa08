package doctor

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/git-smithers/git-smithers/timeline/place"
	"github.com/git-smithers/git-smithers/timeline/verify"
)

// runs checks each run: all of its objects exist, and its tip and its frame refs agree. It
// waits until damaged object files are repaired, because their objects may come back.
func (e *examination) runs(ctx context.Context) error {
	if e.lacksObjects() {
		return nil
	}
	// Read the entries before the refs, so that a run created in the meantime has a tip.
	if err := e.entries.read(ctx); err != nil {
		return err
	}
	var all []objstore.ID
	var own []refs.Item
	for _, item := range e.refs.Items {
		if item.Ours && item.Broken == nil && (isIn(item.Name, refs.TipsFolder) || isIn(item.Name, refs.HeldFolder)) {
			own = append(own, item)
			all = append(all, item.ID)
		}
	}
	lost, err := e.absent.lost(ctx, all...)
	if err != nil {
		return err
	}
	hit := make(map[string]bool)
	for i, item := range own {
		e.progress("runs", i, len(own))
		if len(lost) > 0 {
			of, err := e.absent.lost(ctx, item.ID)
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

// lacksObjects reports whether files with objects are damaged.
func (e *examination) lacksObjects() bool {
	return slices.ContainsFunc(e.found, func(f Finding) bool { return f.Kind == DamagedPack || f.Kind == DamagedObject })
}

// histories verifies every run. A flaw in a run whose objects all exist cannot be repaired.
func (e *examination) histories(ctx context.Context, hit map[string]bool) error {
	report, err := verify.Runs(ctx, e.store)
	if err != nil {
		return err
	}
	for _, p := range report.Problems {
		if p.Code == fault.BrokenRef || hit[p.Run] {
			continue // other findings report these
		}
		where := p.Run
		if p.Frame != nil {
			where = fmt.Sprintf("%s:%d", p.Run, *p.Frame)
		}
		e.note(Finding{Kind: WrongHistory, Where: where, What: p.What}, nil)
	}
	return nil
}

// missing reports that a run lacks objects, and which remotes have the run.
func (e *examination) missing(ctx context.Context, item refs.Item, lost []objstore.ID) error {
	run := runOf(item.Name)
	f := Finding{
		Kind: MissingObject, Where: run,
		What: fmt.Sprintf("%s cannot be read, such as %v", plain.Count(len(lost), "object"), lost[0]),
	}
	tipLost := slices.Contains(lost, item.ID)
	having := e.remotesOf(item.Name)
	if len(having) > 0 {
		f.Repair = "fetches what is missing again from " + strings.Join(having, " or ")
	} else if having = place.Remotes(e.store); len(having) > 0 && !tipLost {
		f.Repair = "looks whether it is at " + strings.Join(having, " or ") + ", and fetches it again"
	}
	if f.Repair != "" {
		e.note(f, func(ctx context.Context) error { return e.absent.fetchAgain(ctx, item, having) })
		return nil
	}
	if !tipLost {
		f.What += "; a clone that has the run can give it back, as a remote"
		e.note(f, nil)
		return nil
	}
	f.Kind, f.Where, f.What = LostTip, string(item.Name), fmt.Sprintf("%v, to which the ref points, cannot be read", item.ID)
	newest, err := e.entries.newest(ctx, run)
	if err != nil || newest == nil {
		e.note(f, nil)
		return err
	}
	f.Repair = fmt.Sprintf("moves the ref back to %v, the run's newest entry in this repository", newest.ID)
	e.note(f, func(ctx context.Context) error { return e.repairs.moveBack(ctx, item, newest.ID) })
	return nil
}

// frames compares the frame refs of a run with its chain. It reads the refs first, so that the tip
// knows the frames that are added in the meantime.
func (e *examination) frames(ctx context.Context, tip refs.Item) error {
	entry, err := snapshot.ReadEntry(e.store.Objects(), tip.ID)
	if err != nil {
		return nil //nolint:nilerr // not an entry: verify reports it
	}
	run := entry.Run // the ref's name may be a hash of it
	list, err := e.store.Refs().Frames(ctx, run)
	if err != nil && !errors.Is(err, refs.ErrBroken) {
		return err
	}
	if tip.ID, err = e.store.Refs().Resolve(ctx, tip.Name); err != nil {
		return ignoreNotFound(err)
	}
	if entry, err = snapshot.ReadEntry(e.store.Objects(), tip.ID); err != nil {
		return nil //nolint:nilerr // as above
	}
	row, err := entry.RunRow()
	if err != nil || row.ID != entry.Run {
		return nil //nolint:nilerr // as above
	}
	chain, err := framesFrom(ctx, e.store, entry)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	var ahead *refs.FrameRef
	for _, ref := range list {
		switch right := chain[ref.Frame]; {
		case right == ref.ID:
		case ref.Frame > row.Frame && timeline.Descends(e.store.Objects(), ref.ID, tip.ID):
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

// framesFrom returns the frames of a chain from an entry back; with an error, as far as
// the chain is readable.
func framesFrom(ctx context.Context, store *timeline.Store, tip *snapshot.Entry) (map[int64]objstore.ID, error) {
	chain := make(map[int64]objstore.ID)
	run, err := store.Frames(ctx, tip, objstore.ID{})
	if run != nil {
		for _, ref := range run.Frames {
			chain[ref.Frame] = ref.ID
		}
	}
	return chain, err
}

// behind reports a tip that is older than one of its frame refs.
func (e *examination) behind(tip refs.Item, ahead refs.FrameRef) {
	e.note(Finding{
		Kind: TipBehind, Where: string(tip.Name), What: fmt.Sprintf("the tip is older than frame %d", ahead.Frame),
		Repair: fmt.Sprintf("moves the tip forward to frame %d", ahead.Frame),
	}, func(ctx context.Context) error {
		return e.store.Refs().Apply(ctx, refs.Update{Name: tip.Name, Old: tip.ID, New: ahead.ID})
	})
}

// wrongFrame reports a frame ref that disagrees with the chain; right is zero if the chain has no
// such frame.
func (e *examination) wrongFrame(run string, tip objstore.ID, ref refs.FrameRef, right objstore.ID) {
	name, err := refs.Frame(run, ref.Frame)
	if err != nil {
		return
	}
	f := Finding{
		Kind: WrongFrameRef, Where: string(name), What: fmt.Sprintf("it points to %v, which is not that frame in the run's chain", ref.ID),
		Repair: fmt.Sprintf("moves the ref to %v", right),
	}
	if right.IsZero() {
		f.Repair = "removes the ref: the run has no such frame"
	}
	e.note(f, func(ctx context.Context) error {
		if err := e.repairs.keepReached(ctx, ref.ID, tip); err != nil {
			return err
		}
		if err := e.aside.writeDown(name, ref.ID); err != nil {
			return err
		}
		return e.store.Refs().Apply(ctx, refs.Update{Name: name, Old: ref.ID, New: right})
	})
}

// gaps reports frames that should have a ref and have none. Another finding reports broken refs.
func (e *examination) gaps(run string, list []refs.FrameRef, chain map[int64]objstore.ID) error {
	lacking, err := e.store.FrameRefs().Lacking(run, list, chain)
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
		Kind: MissingFrames, Where: run, What: plain.Count(len(updates), "frame") + " that should have a ref have none",
		Repair: "recreates the refs",
	}, func(ctx context.Context) error {
		const atOnce = 200
		for chunk := range slices.Chunk(updates, atOnce) {
			if err := e.store.Refs().Apply(ctx, chunk...); err != nil {
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

// remotesOf returns the configured remotes that were last seen to have a ref's run, sorted by name.
func (e *examination) remotesOf(name refs.Name) []string {
	component := path.Base(string(name))
	var having []string
	for _, remote := range place.Remotes(e.store) {
		tracking := refs.Name(refs.RemoteFolder(refs.RemoteComponent(remote, true)) + component)
		if slices.ContainsFunc(e.refs.Items, func(item refs.Item) bool { return item.Name == tracking && item.Broken == nil }) {
			having = append(having, remote)
		}
	}
	return having
}
