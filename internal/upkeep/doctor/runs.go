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
	"github.com/git-smithers/git-smithers/internal/share/remotes"
	"github.com/git-smithers/git-smithers/internal/upkeep/verify"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// runs notes the problems of each run: missing objects, frame refs that disagree with the tip, and an invalid
// history. It notes nothing while damaged object files are unrepaired, because their repair may restore
// objects.
func (e *examination) runs(ctx context.Context) error {
	if e.lacksObjects() {
		return nil
	}
	// The entries are listed before the tips are resolved, so that a run created in the meantime has a tip.
	if err := e.entries.list(ctx); err != nil {
		return err
	}
	e.chains = make(map[objstore.ID]map[int64]objstore.ID)
	report, err := verify.Watched(ctx, e.store, verify.Watch{
		Entry: func(entry *snapshot.Entry) { e.entries.add(entry.Stored(), true) },
		Chain: func(tip objstore.ID, frames map[int64]objstore.ID) { e.chains[tip] = frames },
	})
	if err != nil {
		return err
	}
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
	// A verified entry without a problem lacks nothing, except the mark of a collection, which is always the empty blob.
	if _, err := objstore.GetKind(e.store.Objects(), e.store.Objects().Hash().EmptyBlob(), objstore.Blob); err == nil && len(report.Problems) == 0 {
		all = e.entries.unverified(all)
	}
	lost, err := e.absent.lost(ctx, all...)
	if err != nil {
		return err
	}
	hit := make(map[string]bool) // the ids of the runs that lack objects
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
	e.histories(report, hit)
	return nil
}

// lacksObjects reports whether the examination has found damaged packs or loose objects.
func (e *examination) lacksObjects() bool {
	return slices.ContainsFunc(e.found, func(f Finding) bool { return f.Kind == DamagedPack || f.Kind == DamagedObject })
}

// histories notes each flaw in the report about all runs, and each log with entries that no run has, without a repair. It skips broken refs and
// the runs in hit, because other findings report them. The keys of hit are run ids.
func (e *examination) histories(report *verify.Report, hit map[string]bool) {
	for _, p := range report.Problems {
		if p.Code == fault.BrokenRef || hit[p.Run] {
			continue // other findings report these
		}
		if p.Code == fault.StrandedLog {
			e.note(Finding{Kind: StrandedLog, Where: p.File, What: p.What}, nil)
			continue
		}
		where := p.Run
		if p.Frame != nil {
			where = fmt.Sprintf("%s:%d", p.Run, *p.Frame)
		}
		kind := WrongHistory
		if p.Code == fault.OlderFormat {
			kind = OlderFormat
		}
		e.note(Finding{Kind: kind, Where: where, What: p.What}, nil)
	}
}

// missing notes that the run of item lacks objects. lostIDs has their ids. The repair is the first that applies:
//   - It fetches the objects from the remotes that were last seen to have the run.
//   - If the tip is readable, it tries to fetch the objects from all configured remotes.
//   - If the tip is lost, it moves the ref back to the newest readable entry.
//
// If none applies, the finding has no repair. If the tip is lost and no remote was last seen to have the run, the
// kind of the finding is LostTip. Otherwise, the kind is MissingObject.
func (e *examination) missing(ctx context.Context, item refs.Item, lostIDs []objstore.ID) error {
	run := runOf(item.Name)
	f := Finding{
		Kind: MissingObject, Where: run,
		What: fmt.Sprintf("%s cannot be read, such as %v", plain.Count(len(lostIDs), "object"), lostIDs[0]),
	}
	tipLost := slices.Contains(lostIDs, item.ID)
	having := e.remotesOf(item.Name)
	if len(having) > 0 {
		f.Repair = "fetches the missing objects again from " + strings.Join(having, " or ")
	} else if having = remotes.Remotes(e.store); len(having) > 0 && !tipLost {
		f.Repair = "looks for the run at " + strings.Join(having, " or ") + ", and fetches the missing objects"
	}
	if f.Repair != "" {
		e.note(f, func(ctx context.Context) error { return e.absent.fetchAgain(ctx, item, having) })
		return nil
	}
	if !tipLost {
		f.What += "; to repair the run, add a clone that has the run as a remote, and run doctor again"
		e.note(f, nil)
		return nil
	}
	f.Kind, f.Where, f.What = LostTip, string(item.Name), fmt.Sprintf("the ref points to the entry %v, which cannot be read", item.ID)
	newest, err := e.entries.newest(ctx, run)
	if err != nil || newest == nil {
		e.note(f, nil)
		return err
	}
	f.Repair = fmt.Sprintf("moves the ref back to %v, the run's newest entry in this repository", newest.ID)
	e.note(f, func(ctx context.Context) error { return e.repairs.moveBack(ctx, item, newest.ID) })
	return nil
}

// frames notes three problems of the run of tip: a frame ref that disagrees with the chain of the tip, a tip that
// is older than a frame ref, and a missing frame ref. frames reads the frame refs before it resolves the tip, so
// that the chain has every frame that another process adds in the meantime. If the tip is gone, or the chain is
// unreadable, frames notes nothing. verify reports an unreadable chain.
func (e *examination) frames(ctx context.Context, tip refs.Item) error {
	entry, err := snapshot.ReadEntry(e.store.Objects(), tip.ID)
	if err != nil {
		return nil //nolint:nilerr // verify reports a tip that is not an entry
	}
	run := entry.Run // the ref's name may be a hash of the id
	list, err := e.store.Refs().Frames(ctx, run)
	if err != nil && !errors.Is(err, refs.ErrBroken) {
		return err
	}
	if tip.ID, err = e.store.Refs().Resolve(ctx, tip.Name); err != nil {
		return ignoreNotFound(err)
	}
	if entry, err = snapshot.ReadEntry(e.store.Objects(), tip.ID); err != nil {
		return nil //nolint:nilerr // verify reports an unreadable chain
	}
	row, err := entry.RunRow()
	if err != nil || row.ID != entry.Run {
		return nil //nolint:nilerr // verify reports an unreadable chain
	}
	chain := e.chains[tip.ID]
	if chain == nil {
		if chain, err = framesFrom(ctx, e.store, entry); err != nil {
			return nil //nolint:nilerr // verify reports an unreadable chain
		}
	}
	var ahead *refs.FrameRef
	for _, ref := range list {
		right := chain[ref.Frame]
		// If the ref of a later frame has the value of the tip, the ref may have lost its newer value.
		if ref.Frame > row.Frame && ref.ID == tip.ID {
			if ref.ID, err = e.overwritten(ctx, run, ref); err != nil {
				return err
			}
		}
		switch {
		case right == ref.ID: // the ref is correct
		case ref.Frame > row.Frame && ref.ID != tip.ID && timeline.Descends(e.store.Objects(), ref.ID, tip.ID):
			// the frame continues the history of the tip
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

// overwritten returns the value that ref probably had before its file was overwritten. ref is a frame ref that has a
// higher frame number than the tip, but the value of the tip. The files of a tip and of the newest frame ref may be
// hard links to one file. A process that writes an old value to the tip then also writes it to the frame ref. If the
// run's newest entry descends from ref.ID, overwritten returns the id of this entry. Otherwise, overwritten returns
// ref.ID.
func (e *examination) overwritten(ctx context.Context, run string, ref refs.FrameRef) (objstore.ID, error) {
	newest, err := e.entries.newest(ctx, run)
	if err != nil || newest == nil || !timeline.Descends(e.store.Objects(), newest.ID, ref.ID) {
		return ref.ID, err
	}
	return newest.ID, nil
}

// framesFrom returns the ids of the entries of the frames in the chain that ends at tip, by frame number. If an
// older part of the chain is unreadable, it returns the readable frames and the error.
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

// behind notes that tip is older than frameRef, a frame ref of the same run. The repair moves the tip forward to
// that frame.
func (e *examination) behind(tip refs.Item, frameRef refs.FrameRef) {
	e.note(Finding{
		Kind: TipBehind, Where: string(tip.Name), What: fmt.Sprintf("the tip is older than frame %d", frameRef.Frame),
		Repair: fmt.Sprintf("moves the tip forward to frame %d", frameRef.Frame),
	}, func(ctx context.Context) error {
		return e.store.Refs().Apply(ctx, refs.Update{Name: tip.Name, Old: tip.ID, New: frameRef.ID})
	})
}

// wrongFrame notes that ref, a frame ref of run, disagrees with the chain of the commit tip. chainID is the
// frame's entry in the chain, or zero if the chain has no such frame. The repair saves the objects that ref
// reaches and tip does not. It then moves the ref to chainID, or removes the ref if chainID is zero. If ref has no
// valid name, wrongFrame notes nothing.
func (e *examination) wrongFrame(run string, tip objstore.ID, ref refs.FrameRef, chainID objstore.ID) {
	name, err := refs.Frame(run, ref.Frame)
	if err != nil {
		return
	}
	f := Finding{
		Kind: WrongFrameRef, Where: string(name), What: fmt.Sprintf("the ref points to %v, which is not frame %d of the run", ref.ID, ref.Frame),
		Repair: fmt.Sprintf("moves the ref to %v", chainID),
	}
	if chainID.IsZero() {
		f.Repair = "removes the ref: the run has no such frame"
	}
	e.note(f, func(ctx context.Context) error {
		if err := e.repairs.keepReached(ctx, ref.ID, tip); err != nil {
			return err
		}
		if err := e.aside.writeDown(name, ref.ID); err != nil {
			return err
		}
		return e.store.Refs().Apply(ctx, refs.Update{Name: name, Old: ref.ID, New: chainID})
	})
}

// gaps notes the frames of run that should have a ref and have none. list has the existing frame refs of run.
// chain maps each frame number of run to the id of the frame's entry. gaps leaves out broken refs, because another
// finding reports them.
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
		Kind: MissingFrames, Where: run, What: "the run lacks " + plain.Count(len(updates), "frame ref"),
		Repair: "recreates the refs",
	}, func(ctx context.Context) error {
		const atOnce = 200 // refs in one transaction
		for chunk := range slices.Chunk(updates, atOnce) {
			if err := e.store.Refs().Apply(ctx, chunk...); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// isBroken reports whether the ref name exists and its file is empty or holds no valid id. It uses the list of
// refs that the examination has read.
func (e *examination) isBroken(name refs.Name) bool {
	at, found := slices.BinarySearchFunc(e.refs.Items, name, func(item refs.Item, name refs.Name) int { return cmp.Compare(item.Name, name) })
	return found && e.refs.Items[at].Broken != nil
}

// remotesOf returns the configured remotes, sorted by name, that were last seen to have the run of the ref name.
// Such a remote has an intact tracking ref of the run in this repository.
func (e *examination) remotesOf(name refs.Name) []string {
	component := path.Base(string(name))
	var having []string
	for _, remote := range remotes.Remotes(e.store) {
		tracking := refs.Name(refs.RemoteFolder(refs.RemoteComponent(remote, true)) + component)
		if slices.ContainsFunc(e.refs.Items, func(item refs.Item) bool { return item.Name == tracking && item.Broken == nil }) {
			having = append(having, remote)
		}
	}
	return having
}
