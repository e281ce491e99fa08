package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
)

// Dropping configures [Store.Drop].
type Dropping struct {
	// Choose returns the objects that nothing needs. It is called after the packs were listed, so that
	// a later use of their objects is noticed.
	Choose func(context.Context) (map[ID]struct{}, error)
	// Still checks again, while nothing is pinned, whether nothing needs the objects. It may be called
	// several times after Choose, or never.
	Still func(context.Context, map[ID]struct{}) (bool, error)
}

// DropResult is the result of a drop.
type DropResult struct {
	Objects     int   // that are in no pack of this package's making any more
	BytesBefore int64 // of the packs that had them
	BytesAfter  int64 // of what those became
	Left        int   // objects that stay because a pack is in use; try again later
}

// dropAttempts limits how often objects are chosen again because one is needed now, or because git gc
// removed a pack.
const dropAttempts = 5

// dropShare is how many times as many objects a large pack may have as are to be dropped
// from it: rewriting gigabytes for a few kilobytes is no bargain.
const dropShare = 8

// ErrInUse means that the objects to drop were needed again in every attempt.
var ErrInUse = errors.New("objects are in use")

// Drop takes objects out of the packs of this package's making: each pack that has some
// is replaced by one that has the rest of it, which is read back first. Everything else
// stays, whether anything reaches it or not. It leaves alone loose objects, packs of
// others, those with a .keep, .promisor, .mtimes or .bitmap file, those a
// multi-pack-index names, large ones of which little is to go, and those whose time has
// changed meanwhile: git sets it when it wants to write an object that a pack has.
//
// It waits for a merge and for pins, is as safe beside other processes and git as
// [Store.Merge], and leaves after a crash what was there, or what is to be there, or both.
func (s *Store) Drop(ctx context.Context, what Dropping) (DropResult, error) {
	result, err := s.drop(ctx, what)
	if err != nil {
		return DropResult{}, fmt.Errorf("drop objects: %w", err)
	}
	return result, nil
}

func (s *Store) drop(ctx context.Context, what Dropping) (_ DropResult, err error) {
	if err := s.enter(); err != nil {
		return DropResult{}, err
	}
	defer s.life.RUnlock()
	pins, err := s.lockDrop() // makes the folder
	if err != nil {
		return DropResult{}, err
	}
	merging := flock.New(filepath.Join(s.temp.path, mergeLock))
	if _, err := merging.TryLockContext(ctx, lockRetry); err != nil {
		return DropResult{}, err
	}
	defer func() { err = errors.Join(err, merging.Close()) }()
	for attempt := range dropAttempts {
		result, done, err := s.tryDrop(ctx, what, pins, attempt == dropAttempts-1)
		if vanished(err) && !done {
			continue
		}
		if err != nil || done {
			return result, err
		}
	}
	return DropResult{}, ErrInUse
}

// tryDrop makes one attempt. done is false where another one may do better: something
// needs one of the objects by now, or somebody has touched a pack. The last attempt
// takes what it can get.
func (s *Store) tryDrop(ctx context.Context, what Dropping, pins *flock.Flock, last bool) (_ DropResult, done bool, err error) {
	packs, err := s.droppable()
	if err != nil {
		return DropResult{}, false, err
	}
	ids, err := what.Choose(ctx)
	if err != nil {
		return DropResult{}, true, err
	}
	var having []mergePack
	for _, p := range packs {
		if !s.isOurs(p.name) {
			continue
		}
		var n int64
		if err := s.eachIn(p.name, ids, func(ID) { n++ }); err != nil {
			return DropResult{}, false, err
		}
		if n > 0 && (p.bytes < s.opts.MaxMergePack || n*dropShare >= p.objects) {
			having = append(having, p)
		}
	}
	if len(having) == 0 {
		return DropResult{}, true, nil
	}
	staged, err := s.stageWithout(ctx, having, ids)
	if err != nil {
		return DropResult{}, false, err
	}
	if staged != nil {
		defer staged.discard()
	}
	if err := s.failpoint("drop-staged"); err != nil {
		return DropResult{}, false, err
	}
	if _, err := pins.TryLockContext(ctx, lockRetry); err != nil {
		return DropResult{}, false, err
	}
	defer func() { err = errors.Join(err, pins.Unlock()) }()
	if still, err := what.Still(ctx, ids); err != nil || !still {
		return DropResult{}, err != nil, err
	}
	touched, err := s.touched(having)
	if err != nil || len(touched) > 0 && !last {
		return DropResult{}, false, err
	}
	result, err := s.replaceDropped(ctx, having, touched, staged, ids)
	return result, true, err
}

// touched is the packs whose time is another by now.
func (s *Store) touched(packs []mergePack) (map[string]bool, error) {
	touched := make(map[string]bool)
	for _, p := range packs {
		info, err := os.Stat(s.packPath(p.name, ".pack"))
		if err != nil {
			return nil, err
		}
		if !info.ModTime().Equal(p.made) {
			touched[p.name] = true
		}
	}
	return touched, nil
}

// replaceDropped puts what was staged in the place of packs, but for those that were touched.
// Where git is at its multi-pack-index for long, all of them stay.
func (s *Store) replaceDropped(ctx context.Context, having []mergePack, touched map[string]bool, staged *stagedPack, ids map[ID]struct{}) (DropResult, error) {
	holds, err := s.holdings(having, ids)
	if err != nil {
		return DropResult{}, err
	}
	unlock, locked, err := s.lockMidx(ctx)
	if err != nil {
		return DropResult{}, err
	}
	if !locked {
		return dropped(having, holds, nil), nil
	}
	defer unlock()
	name := ""
	if staged != nil {
		name = staged.name
		if err := s.publish(staged, true, nil); err != nil {
			return DropResult{}, err
		}
		s.main.add(staged)
	}
	if err := s.failpoint("drop-after-rename"); err != nil {
		return DropResult{}, err
	}
	inputs := slices.DeleteFunc(slices.Clone(having), func(p mergePack) bool { return touched[p.name] })
	removed, err := s.removeMerged(inputs, name)
	s.main.drop(removed)
	if err == nil && len(removed) > 0 {
		err = s.temp.fs.SyncDir(s.main.packDir())
	}
	result := dropped(having, holds, removed)
	if staged != nil {
		s.restoreIndex(staged)
		result.BytesAfter += staged.bytes
	}
	return result, err
}

// holdings is which of the objects each pack has, by the pack's name.
func (s *Store) holdings(packs []mergePack, ids map[ID]struct{}) (map[string][]ID, error) {
	holds := make(map[string][]ID, len(packs))
	for _, p := range packs {
		if err := s.eachIn(p.name, ids, func(id ID) { holds[p.name] = append(holds[p.name], id) }); err != nil {
			return nil, err
		}
	}
	return holds, nil
}

// dropped is what came of packs that have objects to be dropped when those named removed went.
func dropped(packs []mergePack, holds map[string][]ID, removed map[string]bool) (out DropResult) {
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

// stageWithout writes what is in packs, but for ids, into one; nil where that is nothing.
func (s *Store) stageWithout(ctx context.Context, packs []mergePack, ids map[ID]struct{}) (_ *stagedPack, err error) {
	set, err := s.openMergeSet(packs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.close()) }()
	set.remove(ids)
	if len(set.objects) == 0 {
		return nil, nil //nolint:nilnil // nothing is left to write
	}
	staged, err := s.stage(ctx, len(set.objects), true, newestOf(packs), set.write)
	if err != nil {
		return nil, err
	}
	if err := s.verifyStaged(ctx, staged); err != nil {
		staged.discard()
		return nil, err
	}
	return staged, nil
}

// remove takes objects out of the set. What was a delta of one of them is written in full.
func (m *mergeSet) remove(ids map[ID]struct{}) {
	const gone = -2
	places, kept := make([]int32, len(m.objects)), int32(0)
	for o := range m.objects {
		places[o] = gone
		if _, drop := ids[m.objects[o].id]; !drop {
			places[o], kept = kept, kept+1
		}
	}
	objects := make([]mergeObject, 0, kept)
	for i, object := range m.objects {
		if places[i] == gone {
			continue
		}
		if object.base != noBase {
			if places[object.base] == gone {
				object.kind = uint8(m.kindOf(int32(i)))
				object.base, object.inflate = noBase, true
			} else {
				object.base = places[object.base]
			}
		}
		objects = append(objects, object)
	}
	clear(m.byID)
	for o := range objects {
		m.byID[objects[o].id] = int32(o)
	}
	m.objects = objects
}

// droppable is the packs that a drop may replace, as far as their files tell.
func (s *Store) droppable() ([]mergePack, error) {
	dir := s.main.packDir()
	names, err := packNames(dir)
	if err != nil {
		return nil, err
	}
	held, err := midxPacks(dir)
	if errors.Is(err, errMidx) {
		return nil, nil // of a newer git, perhaps: any pack may be in it
	}
	if err != nil {
		return nil, err
	}
	var packs []mergePack
	for _, name := range names {
		if held[name] || s.isMarked(name) {
			continue
		}
		info, err := os.Stat(s.packPath(name, ".pack"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		index, err := os.Stat(s.packPath(name, ".idx"))
		if err != nil {
			return nil, err
		}
		objects := (index.Size() - indexTableAt - indexTailSize) / indexEntrySize
		packs = append(packs, mergePack{name: name, objects: objects, bytes: info.Size(), made: info.ModTime()})
	}
	return packs, nil
}

// isMarked reports whether a pack has a file beside it that says that it is to stay.
func (s *Store) isMarked(name string) bool {
	return slices.ContainsFunc([]string{".keep", ".promisor", ".mtimes", ".bitmap"}, func(suffix string) bool {
		_, err := os.Lstat(s.packPath(name, suffix))
		return err == nil
	})
}

// eachIn calls f for each of ids that a pack has.
func (s *Store) eachIn(name string, ids map[ID]struct{}, f func(ID)) error {
	p := s.openAside(name)
	entries, err := p.entries()
	if err := errors.Join(err, p.close()); err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := ids[e.id]; ok {
			f(e.id)
		}
	}
	return nil
}
