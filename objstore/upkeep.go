package objstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// NeedsMerge reports whether [Store.Merge] may have something to do: packs to merge, a multi-pack-index that
// names missing packs, a lock that a merge made, or a pack that lost its index. It judges packs with an index
// only by the names and sizes of their files. So it may count packs that Merge leaves alone: small packs of
// other programs that this Store has not opened yet, and packs that are still too young.
func (s *Store) NeedsMerge() (bool, error) {
	due, err := s.mayMerge()
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return due, nil
}

// mayMerge returns the result of [Store.NeedsMerge]. NeedsMerge adds a prefix to its errors.
func (s *Store) mayMerge() (bool, error) {
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.life.RUnlock()
	packs, err := s.chooser.mergeable()
	if err != nil {
		return false, err
	}
	if len(planAll(packs)) > 1 {
		return true, nil
	}
	missing, err := s.midx.missing()
	if err != nil {
		return false, err
	}
	return len(missing) > 0 || s.midx.hasOwnLock() || s.sweeper.hasLostIndex(), nil
}

// MergeDue reports whether [Store.Merge] would merge packs. It ignores Merge's other repairs.
// Unlike NeedsMerge, it opens the packs. It does not count packs of other programs or packs that
// are too young.
func (s *Store) MergeDue() (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	defer s.life.RUnlock()
	chosen, _, err := s.chooser.choose(time.Now(), mergeShare) //nolint:forbidigo // choose compares the time with the times of files and writes nothing
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return len(chosen) > 1, nil
}

// Merge merges small packs that this program made, once there are many of them. Packs of about the same size
// become one pack, in which each object is stored once and older versions are deltas of newer versions. Merge
// leaves alone packs of other programs, packs of at least [Options].MaxMergePack bytes, packs whose file time
// is too recent, and packs with another file beside .pack, .idx and .rev, for example .keep. It merges packs
// that a multi-pack-index names only if there are very many packs, and then removes the multi-pack-index, as
// git repack does. Merge also removes a multi-pack-index that names missing packs, and repairs the remains of
// processes that died.
//
// One process merges at a time. If another process is merging, Merge does nothing and returns no error. Merge
// also stops without an error if git gc keeps removing the packs, if git holds a lock of its multi-pack-index
// for a long time, or if a dead git left the lock. Merge is safe beside git and beside every other use of the
// store by this process and others.
//
// If ctx ends, Merge stops, and packs that are not replaced yet are unchanged. Merge then returns an error,
// except if it was waiting for git's lock.
func (s *Store) Merge(ctx context.Context) (MergeResult, error) {
	if err := s.enter(); err != nil {
		return MergeResult{}, fmt.Errorf("merge packs: %w", err)
	}
	defer s.life.RUnlock()
	result, err := s.merger.merge(ctx, s.chooser.choose, mergeLots)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge packs: %w", err)
	}
	return result, nil
}

// Seal merges the packs of this program that have any of the commits into one pack. The new pack stores each
// object once, and stores older versions as deltas of newer versions. Seal leaves alone the packs that
// [Store.Merge] leaves alone, and all packs that a multi-pack-index names. It also leaves alone a single pack
// that has deltas or only one of the commits. It is as safe as Merge, and does nothing while another process
// merges.
//
// If spare is true, Seal rewrites little more than the commits' own objects. It then also skips packs with
// mostly other objects and packs that are much larger than the packs it has chosen, and does nothing for fewer
// than 8 packs.
func (s *Store) Seal(ctx context.Context, commits []ID, spare bool) (MergeResult, error) {
	if err := s.enter(); err != nil {
		return MergeResult{}, fmt.Errorf("seal packs: %w", err)
	}
	defer s.life.RUnlock()
	choose := func(now time.Time, _ int) ([]mergePack, int, error) {
		return s.chooser.chooseSeal(ctx, now, commits, spare)
	}
	result, err := s.merger.merge(ctx, choose, 1)
	if err != nil {
		return MergeResult{}, fmt.Errorf("seal packs: %w", err)
	}
	return result, nil
}

// Drop removes objects from the packs that this program made. It replaces each pack that has some of the
// objects by a pack with all other objects of the pack, and reads the new pack back before the replacement.
// Drop leaves alone loose objects, packs of other programs, packs with a .keep, .promisor, .mtimes or .bitmap
// file, packs that a multi-pack-index names, and large packs that would hardly become smaller. It also leaves
// alone a pack whose file time changes during the drop: git changes the time when git needs to write an object
// that the pack already has.
//
// Drop waits for a merge and for pins. It is as safe beside git and other processes as [Store.Merge]. After a
// crash, the repository has the old packs, the new pack, or both. If every attempt failed because an object was
// needed again or a pack was removed, the error wraps [ErrInUse].
func (s *Store) Drop(ctx context.Context, what DropRequest) (DropResult, error) {
	if err := s.enter(); err != nil {
		return DropResult{}, fmt.Errorf("drop objects: %w", err)
	}
	defer s.life.RUnlock()
	result, err := s.dropper.drop(ctx, what)
	if err != nil {
		return DropResult{}, fmt.Errorf("drop objects: %w", err)
	}
	return result, nil
}

// CheckFiles reads the packs, every index and every loose object of the object directory, and returns the
// damage that it finds. It recomputes each checksum and each id. Of a large pack, it reads the needed objects, and everything
// if one of them is damaged. It also checks duplicate copies of an object,
// which Get ignores while a sound copy exists. It does not check alternates. A file that git or a merge
// replaces during the check is not damage. If progress is not nil, CheckFiles calls it after each pack and each
// loose object. done is the number of checked packs and objects, and total is the number of all packs and
// objects.
func (s *Store) CheckFiles(ctx context.Context, needed map[ID]bool, progress func(done, total int)) ([]Damage, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	return fileChecker{dir: s.main, files: s.packs.files, needed: needed}.check(ctx, progress)
}

// Salvage saves the readable objects of the damaged pack with the given name. If only the index is damaged or missing,
// and all objects are readable, the pack gets a new index, and Salvage links the old index into aside. Otherwise
// Salvage writes the readable objects, if there are any, to a new pack and moves the old files to aside. aside is the
// path of a folder on the file system of the pack; Salvage creates the folder. Salvage never deletes a pack file, and
// does not change an undamaged pack.
//
// The new files are on stable storage before Salvage moves an old file, so every readable object stays readable at any
// time.
func (s *Store) Salvage(ctx context.Context, name, aside string) (SalvageResult, error) {
	if err := s.enter(); err != nil {
		return SalvageResult{}, fmt.Errorf("salvage %s: %w", name, err)
	}
	defer s.life.RUnlock()
	saved, err := s.salvager.salvage(ctx, name, aside)
	if err != nil {
		return SalvageResult{}, fmt.Errorf("salvage %s: %w", name, err)
	}
	return saved, nil
}

// SetAside moves the file of a damaged loose object to aside, the path of a folder. id is the id of
// the object. SetAside does nothing if the object is sound or missing.
func (s *Store) SetAside(id ID, aside string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.salvager.setLooseAside(id, aside); err != nil {
		return fmt.Errorf("set object %v aside: %w", id, err)
	}
	return nil
}

// MissingPacks returns the sorted names of the packs that a multi-pack-index names and that do not exist. It
// returns nil if there is no multi-pack-index. It also returns nil if the multi-pack-index is malformed,
// because a newer git may have written a form that this program does not know.
//
// Missing packs make git fsck fail. They also hide an object from git if the multi-pack-index lists the object
// in a missing pack, and also names the pack that really has the object.
func (s *Store) MissingPacks() ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	return s.midx.missing()
}

// MendPacks moves a multi-pack-index that names missing packs to aside, the path of a folder on the same file
// system. git then looks for objects in the packs themselves. MendPacks also removes the locks of dead merges.
// It waits for a merge in progress. If git holds a lock of the multi-pack-index for a long time, MendPacks
// leaves the multi-pack-index in place and returns no error.
func (s *Store) MendPacks(ctx context.Context, aside string) error {
	if err := s.mendAlone(ctx, func() error { return s.midx.mend(ctx, aside) }); err != nil {
		return fmt.Errorf("mend multi-pack-index: %w", err)
	}
	return nil
}

// mendAlone calls f while no process merges, and returns f's error. It waits until a merge in
// progress ends. If ctx ends first, mendAlone returns an error and does not call f.
func (s *Store) mendAlone(ctx context.Context, f func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	return s.temp.alone(ctx, mergeLock, f)
}

const (
	// midxSettle is the number of times that Settle checks the multi-pack-index, lockRetry apart. All checks
	// together take longer than git takes from reading the pack directory to writing the index, except in a
	// repository of many gigabytes.
	midxSettle = 10
	// settlePatience is the time that Settle waits for a process that merges. That process may be suspended, so
	// Settle must not wait forever.
	settlePatience = time.Second
)

// Settle removes a multi-pack-index that names packs which this Store has removed. Such a multi-pack-index can
// appear after the removal, if git read the pack directory before the removal. So Settle checks midxSettle
// times, with a pause after each check. If this Store has removed no packs while a multi-pack-index existed,
// Settle does nothing.
//
// If another process merges for longer than settlePatience, Settle returns nil without checking, because that
// process removes the multi-pack-index. If ctx ends in a pause, Settle stops and returns nil.
func (s *Store) Settle(ctx context.Context) error {
	if !s.midx.used.Load() {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	err := s.mendAlone(waiting, func() error {
		for range midxSettle {
			if err := s.midx.mend(ctx, ""); err != nil || !waitFor(ctx) {
				return err
			}
		}
		return nil
	})
	// If waiting has ended but ctx has not, another process is merging.
	if err != nil && (ctx.Err() != nil || waiting.Err() == nil) {
		return fmt.Errorf("mend multi-pack-index: %w", err)
	}
	return nil
}

// LeftLocks returns the locks of the multi-pack-index that a killed merge left, as paths relative
// to the object directory, with slashes. It returns nil while a process merges, because the locks
// may belong to that process. [Store.MendPacks] and the next merge remove the locks.
func (s *Store) LeftLocks() (left []string, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	if !s.midx.hasOwnLock() {
		return nil, nil
	}
	lock, err := s.temp.lock(mergeLock)
	if err != nil {
		return nil, err
	}
	if locked, err := lock.TryLock(); err != nil || !locked {
		return nil, err // the locks belong to a merge in progress
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	own, _ := s.midx.heldLocks()
	return s.inObjects(own), nil
}

// IndexLocks returns the paths of the locks with which git protects the multi-pack-index, relative to the
// object directory and with slashes. It returns a path even if no lock exists there. It leaves out a lock that
// [Store.Merge] made.
func (s *Store) IndexLocks() []string {
	_, others := s.midx.heldLocks()
	return s.inObjects(others)
}

// inObjects returns each path relative to the object directory, with slashes. The paths must begin
// with the path of the object directory.
func (s *Store) inObjects(paths []string) (relative []string) {
	for _, path := range paths {
		relative = append(relative, filepath.ToSlash(strings.TrimPrefix(path, s.opts.ObjectsDir+string(filepath.Separator))))
	}
	return relative
}

// LeftKeeps returns the number of .keep files that dead processes of this program left. git gc does not touch
// the packs of these files. now is the present time. A living process soon removes its .keep file, so a .keep
// file counts as left if its pack is more than a day older than now. The next [Store.Merge] removes these .keep
// files.
func (s *Store) LeftKeeps(now time.Time) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	return s.sweeper.leftKeeps(now)
}
