package objstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/flock"
)

// DropRequest selects the objects for [Store.Drop].
type DropRequest struct {
	// Choose returns the ids of the objects to drop. Nothing may need these objects. Drop lists the packs before it
	// calls Choose. So it notices if git uses an object of these packs after the choice.
	Choose func(context.Context) (map[ID]struct{}, error)
	// Still reports whether the objects are still not needed. Drop calls Still after Choose, while no process has a
	// pin. Drop may call Still several times, or never.
	Still func(context.Context, map[ID]struct{}) (bool, error)
}

// DropResult is the result of a drop.
type DropResult struct {
	Objects     int   // number of dropped objects
	BytesBefore int64 // size of the packs that had the objects
	BytesAfter  int64 // size of the pack that replaced them, and of the packs that stayed
	Left        int   // number of objects that stay because their pack is in use; a later drop may remove them
}

// dropAttempts is the number of attempts of a drop. An attempt fails if an object is needed again,
// or if another process used or removed a pack meanwhile.
const dropAttempts = 5

// dropShare limits the rewriting of large packs. A large pack is rewritten only if at least one in dropShare of its
// objects is dropped. Otherwise a drop could rewrite a gigabyte to free a few kilobytes.
const dropShare = 8

// ErrInUse is wrapped by the error of [Store.Drop] if every attempt failed because an object was
// needed again or because another process removed a pack.
var ErrInUse = errors.New("objects are in use")

// dropper replaces packs by a pack without some of their objects.
type dropper struct {
	temp       *tempDir
	files      packFiles
	dir        *objectDir
	owners     *packOwners
	packs      *packMaker
	replacer   *replacer
	maxBytes   int64 // a pack of at least this size is large; see dropShare
	failpoints failpoints
}

// drop makes up to dropAttempts attempts to drop the objects of request, under the merge lock. It ends with the
// first attempt that succeeds or has an error that another attempt cannot avoid. If no attempt is left, it
// returns ErrInUse.
func (d *dropper) drop(ctx context.Context, request DropRequest) (result DropResult, err error) {
	pins, err := d.temp.lock(dropLock, flock.SetPermissions(0o666))
	if err != nil {
		return DropResult{}, err
	}
	err = d.temp.alone(ctx, mergeLock, func() error {
		for attempt := range dropAttempts {
			var done bool
			result, done, err = d.try(ctx, request, pins, attempt == dropAttempts-1)
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

// try makes one attempt to drop the objects that request.Choose returns. It holds the lock pins while it replaces
// packs. If another process has used a pack and last is true, try keeps this pack and replaces the others.
//
// If done is true, the drop is complete or err is final. If done is false, another attempt may succeed in two cases. In
// one case err is nil, because an object is needed again or another process used a pack. In the other case vanished
// returns true for err, because a pack was removed. Any other error is final.
func (d *dropper) try(ctx context.Context, request DropRequest, pins *flock.Flock, last bool) (_ DropResult, done bool, err error) {
	packs, err := d.droppable()
	if err != nil {
		return DropResult{}, false, err
	}
	ids, err := request.Choose(ctx)
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
	if still, err := request.Still(ctx, ids); err != nil || !still {
		return DropResult{}, err != nil, err // if err is nil, the next attempt chooses anew
	}
	touched, err := d.touched(having)
	if err != nil || len(touched) > 0 && !last {
		return DropResult{}, false, err
	}
	result, err := d.replace(ctx, having, touched, staged, ids)
	return result, true, err
}

// touched returns the names of the packs whose file time has changed since they were listed. git
// sets the time of a pack if git wants to write an object that the pack has.
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

// replace publishes the staged pack, unless staged is nil, and removes the packs of candidates whose names are not in
// touched. It returns how many of ids are dropped, and how many are left. If git holds the lock of its multi-pack-index
// for long, replace changes nothing, and all objects count as left.
func (d *dropper) replace(ctx context.Context, candidates []mergePack, touched map[string]bool, staged *stagedPack, ids map[ID]struct{}) (DropResult, error) {
	holds, err := d.holdings(candidates, ids)
	if err != nil {
		return DropResult{}, err
	}
	inputs := slices.DeleteFunc(slices.Clone(candidates), func(p mergePack) bool { return touched[p.name] })
	replaced, err := d.replacer.replace(ctx, staged, inputs, func() error { return nil }, "drop-after-rename")
	if err == nil && len(replaced.removed) > 0 {
		err = d.files.sync()
	}
	if err != nil && !replaced.done {
		return DropResult{}, err
	}
	result := dropResult(candidates, holds, replaced.removed)
	if staged != nil && replaced.done {
		result.BytesAfter += staged.bytes
	}
	return result, err
}

// holdings returns, by pack name, the objects of ids that each of the packs has.
func (d *dropper) holdings(packs []mergePack, ids map[ID]struct{}) (map[string][]ID, error) {
	holds := make(map[string][]ID, len(packs))
	for _, p := range packs {
		if err := d.dir.eachIn(p.name, ids, func(id ID) { holds[p.name] = append(holds[p.name], id) }); err != nil {
			return nil, err
		}
	}
	return holds, nil
}

// dropResult returns the result of a drop that removed the packs named in removed. holds has the
// dropped ids of each pack. An id that a remaining pack has counts as left. The caller adds the
// size of the new pack.
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

// stageWithout writes the objects of packs, except ids, to one staged pack. It reads the pack back to verify the pack.
// If no object remains, it returns nil.
func (d *dropper) stageWithout(ctx context.Context, packs []mergePack, ids map[ID]struct{}) (_ *stagedPack, err error) {
	set, err := openMergeSet(d.dir, packs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.close()) }()
	set.remove(ids)
	if len(set.objects) == 0 {
		return nil, nil //nolint:nilnil // A nil pack means that no object remains.
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

// droppable returns the packs that a drop may replace. These are the packs that are in no multi-pack-index and have no
// file that marks them as packs to keep. droppable reads only names, sizes and times of files, and the
// multi-pack-index. If the multi-pack-index is unreadable, it returns no pack.
func (d *dropper) droppable() ([]mergePack, error) {
	dir := d.files.dir
	names, err := packNames(dir)
	if err != nil {
		return nil, err
	}
	held, err := midxPacks(dir)
	if errors.Is(err, errMidx) {
		return nil, nil // a newer git may have written the multi-pack-index, and any pack may be in it
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
		// The size of an index gives its number of objects.
		objects := d.dir.hash.indexed(index.Size())
		packs = append(packs, mergePack{name: name, objects: objects, bytes: info.Size(), made: info.ModTime()})
	}
	return packs, nil
}
