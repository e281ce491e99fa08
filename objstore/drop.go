package objstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/gofrs/flock"
)

// DropRequest chooses the objects for [Store.Drop].
type DropRequest struct {
	// Choose returns the objects that nothing needs. It is called after the packs were listed, so that
	// a later use of their objects is noticed.
	Choose func(context.Context) (map[ID]struct{}, error)
	// Still checks again, while nothing is pinned, whether nothing needs the objects. It may be called
	// several times after Choose, or never.
	Still func(context.Context, map[ID]struct{}) (bool, error)
}

// DropResult is the result of a drop.
type DropResult struct {
	Objects     int   // number of dropped objects
	BytesBefore int64 // of the packs that had the objects
	BytesAfter  int64 // of the packs that replaced them
	Left        int   // objects that stay because a pack is in use; try again later
}

// dropAttempts limits how often objects are chosen again because one is needed now, or because git gc
// removed a pack.
const dropAttempts = 5

// dropShare bounds the rewriting of large packs: a large pack is rewritten if at least one in
// dropShare of its objects goes. Rewriting gigabytes to free a few kilobytes is not worth it.
const dropShare = 8

// ErrInUse means that the objects to drop were needed again in every attempt.
var ErrInUse = errors.New("objects are in use")

// dropper replaces packs by packs without some objects.
type dropper struct {
	temp       *tempDir
	files      packFiles
	dir        *objectDir
	owners     *packOwners
	packs      *packMaker
	replacer   *replacer
	maxBytes   int64 // of larger packs, only those are rewritten that become much smaller
	failpoints failpoints
}

func (d *dropper) drop(ctx context.Context, what DropRequest) (result DropResult, err error) {
	pins, err := d.temp.lock(dropLock, flock.SetPermissions(0o666))
	if err != nil {
		return DropResult{}, err
	}
	err = d.temp.alone(ctx, mergeLock, func() error {
		for attempt := range dropAttempts {
			var done bool
			result, done, err = d.try(ctx, what, pins, attempt == dropAttempts-1)
			if vanished(err) && !done {
				continue
			}
			if err != nil || done {
				return err
			}
		}
		return ErrInUse
	})
	return result, err
}

// try makes one attempt. done is false if another attempt may do better, because one of the objects
// is needed now or a process has touched a pack. The last attempt drops as much as it can.
func (d *dropper) try(ctx context.Context, what DropRequest, pins *flock.Flock, last bool) (_ DropResult, done bool, err error) {
	packs, err := d.droppable()
	if err != nil {
		return DropResult{}, false, err
	}
	ids, err := what.Choose(ctx)
	if err != nil {
		return DropResult{}, true, err
	}
	var having []mergePack
	for _, p := range packs {
		if !d.owners.isOurs(p.name) {
			continue
		}
		var n int64
		if err := d.dir.eachIn(p.name, ids, func(ID) { n++ }); err != nil {
			return DropResult{}, false, err
		}
		if n > 0 && (p.bytes < d.maxBytes || n*dropShare >= p.objects) {
			having = append(having, p)
		}
	}
	if len(having) == 0 {
		return DropResult{}, true, nil
	}
	staged, err := d.stageWithout(ctx, having, ids)
	if err != nil {
		return DropResult{}, false, err
	}
	if staged != nil {
		defer staged.discard()
	}
	if err := d.failpoints.at("drop-staged"); err != nil {
		return DropResult{}, false, err
	}
	if _, err := pins.TryLockContext(ctx, lockRetry); err != nil {
		return DropResult{}, false, err
	}
	defer func() { err = errors.Join(err, pins.Unlock()) }()
	if still, err := what.Still(ctx, ids); err != nil || !still {
		return DropResult{}, err != nil, err
	}
	touched, err := d.touched(having)
	if err != nil || len(touched) > 0 && !last {
		return DropResult{}, false, err
	}
	result, err := d.replace(ctx, having, touched, staged, ids)
	return result, true, err
}

// touched returns the packs whose time has changed.
func (d *dropper) touched(packs []mergePack) (map[string]bool, error) {
	touched := make(map[string]bool)
	for _, p := range packs {
		info, err := os.Stat(d.files.path(p.name, ".pack"))
		if err != nil {
			return nil, err
		}
		if !info.ModTime().Equal(p.made) {
			touched[p.name] = true
		}
	}
	return touched, nil
}

// replace puts the staged pack in the place of packs, except of touched ones. All of them stay if git
// has its multi-pack-index locked for long.
func (d *dropper) replace(ctx context.Context, having []mergePack, touched map[string]bool, staged *stagedPack, ids map[ID]struct{}) (DropResult, error) {
	holds, err := d.holdings(having, ids)
	if err != nil {
		return DropResult{}, err
	}
	inputs := slices.DeleteFunc(slices.Clone(having), func(p mergePack) bool { return touched[p.name] })
	replaced, err := d.replacer.replace(ctx, staged, inputs, func() error { return nil }, "drop-after-rename")
	if err == nil && len(replaced.removed) > 0 {
		err = d.files.sync()
	}
	if err != nil && !replaced.done {
		return DropResult{}, err
	}
	result := dropResult(having, holds, replaced.removed)
	if staged != nil && replaced.done {
		result.BytesAfter += staged.bytes
	}
	return result, err
}

// holdings returns which of the objects each pack has, by the pack's name.
func (d *dropper) holdings(packs []mergePack, ids map[ID]struct{}) (map[string][]ID, error) {
	holds := make(map[string][]ID, len(packs))
	for _, p := range packs {
		if err := d.dir.eachIn(p.name, ids, func(id ID) { holds[p.name] = append(holds[p.name], id) }); err != nil {
			return nil, err
		}
	}
	return holds, nil
}

// dropResult returns the result of a drop after which the removed packs are gone.
func dropResult(packs []mergePack, holds map[string][]ID, removed map[string]bool) (out DropResult) {
	all, left := make(map[ID]struct{}), make(map[ID]struct{})
	for _, p := range packs {
		out.BytesBefore += p.bytes
		if !removed[p.name] {
			out.BytesAfter += p.bytes
		}
		for _, id := range holds[p.name] {
			all[id] = struct{}{}
			if !removed[p.name] {
				left[id] = struct{}{}
			}
		}
	}
	out.Objects, out.Left = len(all)-len(left), len(left)
	return out
}

// stageWithout writes the objects of packs, except ids, into one pack. The result is nil if there
// are no others.
func (d *dropper) stageWithout(ctx context.Context, packs []mergePack, ids map[ID]struct{}) (_ *stagedPack, err error) {
	set, err := openMergeSet(d.dir, packs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.close()) }()
	set.remove(ids)
	if len(set.objects) == 0 {
		return nil, nil //nolint:nilnil // nothing is left to write
	}
	staged, err := d.packs.stage(ctx, len(set.objects), true, newestOf(packs), set.write)
	if err != nil {
		return nil, err
	}
	if err := d.packs.verify(ctx, staged); err != nil {
		staged.discard()
		return nil, err
	}
	return staged, nil
}

// droppable returns the packs that a drop may replace, judged by their files' names and sizes.
func (d *dropper) droppable() ([]mergePack, error) {
	dir := d.files.dir
	names, err := packNames(dir)
	if err != nil {
		return nil, err
	}
	held, err := midxPacks(dir)
	if errors.Is(err, errMidx) {
		return nil, nil // perhaps of a newer git: it may name any pack
	}
	if err != nil {
		return nil, err
	}
	var packs []mergePack
	for _, name := range names {
		if held[name] || d.files.isMarked(name) {
			continue
		}
		info, err := os.Stat(d.files.path(name, ".pack"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		index, err := os.Stat(d.files.path(name, ".idx"))
		if err != nil {
			return nil, err
		}
		objects := (index.Size() - indexTableAt - indexTailSize) / indexEntrySize
		packs = append(packs, mergePack{name: name, objects: objects, bytes: info.Size(), made: info.ModTime()})
	}
	return packs, nil
}
