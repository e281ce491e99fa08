package objstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// NeedsMerge reports whether Merge may have something to do. It reads the pack directory and no
// pack. So it may return true if there are many small packs of others that this Store has not met yet.
func (s *Store) NeedsMerge() (bool, error) {
	due, err := s.mayMerge()
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return due, nil
}

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

// MergeDue reports whether Merge has something to do. Unlike NeedsMerge it looks into the packs to
// find out who has made them.
func (s *Store) MergeDue() (bool, error) {
	if err := s.enter(); err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	defer s.life.RUnlock()
	chosen, _, err := s.chooser.choose(time.Now(), mergeShare) //nolint:forbidigo // compared with what the file system says, and nothing is written
	if err != nil {
		return false, fmt.Errorf("look for packs to merge: %w", err)
	}
	return len(chosen) > 1, nil
}

// Merge merges small packs of this package's making, if there are many: packs of about the same
// size become one, in which each object is stored once and older versions are deltas of newer ones.
// It leaves alone packs of others, packs with a .keep, .promisor, .mtimes or .bitmap file, and large
// packs. It takes packs that a multi-pack-index names if there are many packs; the multi-pack-index
// is removed then, as git repack does. A multi-pack-index that names missing packs is removed, too.
//
// One process merges at a time. If another process merges, or git gc takes the packs away, Merge
// does nothing and returns no error. It is safe beside every other use of the store by this process
// and others, and beside git. When ctx ends it stops: packs that are not replaced yet are unchanged.
// Nothing is merged while git writes its multi-pack-index, or if a dead git has left its lock.
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

// Seal merges the packs of this program that have any of the commits into one pack,
// in which each object is stored once and older versions are deltas of newer ones. It skips the same
// packs as [Store.Merge], is as safe, and does nothing while another process merges.
//
// With spare, it also skips packs that mostly belong to others, packs that are large
// beside the rest, and a small number of packs: then it rewrites little more than the commits' own objects.
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

// Drop takes objects out of the packs of this package's making: each pack that has some of the
// objects is replaced by a pack with the rest, which is read back first. Everything else stays,
// reachable or not. Drop leaves alone loose objects, packs of others, packs with a .keep, .promisor,
// .mtimes or .bitmap file, packs that a multi-pack-index names, and large packs that would hardly
// become smaller. It also leaves alone packs whose time has changed meanwhile: git sets the time when
// it wants to write an object that a pack has.
//
// It waits for a merge and for pins, and is as safe beside other processes and git as
// [Store.Merge]. After a crash there are the old packs, or the new one, or both.
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

// CheckFiles reads every pack, every index and every loose object of this object
// directory, without alternates, and recomputes each checksum and each id. It also checks duplicate
// copies, which Get ignores while a good one exists. A file that git or a merge replaces in the
// meantime is not damage. progress, if not nil, gets the number of checked files.
func (s *Store) CheckFiles(ctx context.Context, progress func(done, total int)) ([]Damage, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	return fileChecker{dir: s.main, files: s.packs.files}.check(ctx, progress)
}

// Salvage saves the readable objects of a damaged pack. A sound pack gets a new index; from
// another pack, the sound objects are written to a new pack. The old files
// are moved to the folder aside, on the same file system, and never deleted. An undamaged pack is
// unchanged.
//
// Everything is on stable storage before anything is moved, so every readable object stays readable at
// any time.
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

// SetAside moves a damaged loose object to a folder. A sound one stays.
func (s *Store) SetAside(id ID, aside string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.salvager.setLooseAside(id, aside); err != nil {
		return fmt.Errorf("set %v aside: %w", id, err)
	}
	return nil
}

// MissingPacks returns the names of the packs that a multi-pack-index names and that do not exist.
// git fsck fails because of them. git still finds an object, unless the multi-pack-index says that
// the object is in a missing pack and also names the pack that really has it.
func (s *Store) MissingPacks() ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	return s.midx.missing()
}

// MendPacks removes a multi-pack-index that names missing packs: git then looks for objects in the
// packs themselves. The multi-pack-index is moved to the folder aside, on the same file system.
// While git writes one, MendPacks does nothing.
func (s *Store) MendPacks(ctx context.Context, aside string) error {
	if err := s.mendAlone(ctx, func() error { return s.midx.mend(ctx, aside) }); err != nil {
		return fmt.Errorf("mend multi-pack-index: %w", err)
	}
	return nil
}

// mendAlone calls f while no process merges. It waits for a merge to end.
func (s *Store) mendAlone(ctx context.Context, f func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	return s.temp.alone(ctx, mergeLock, f)
}

const (
	// midxSettle is how often, lockRetry apart, Settle looks: longer than git takes from
	// reading the pack directory to writing the index, except in a repository of many gigabytes.
	midxSettle = 10
	// settlePatience is how long Settle waits for a merging process, which may be stopped.
	settlePatience = time.Second
)

// Settle removes a multi-pack-index that names packs which this Store has removed: git may have read
// the pack directory before, and written the multi-pack-index after. If git uses none, Settle does
// nothing. If another process merges for long, Settle leaves the work to that process.
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
	if err != nil && (ctx.Err() != nil || waiting.Err() == nil) {
		return fmt.Errorf("mend multi-pack-index: %w", err)
	}
	return nil
}

// LeftLocks returns git's locks of the multi-pack-index that a killed merge has left, as
// paths relative to the object directory, with slashes. [Store.MendPacks] removes them, and so
// does the next merge.
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
		return nil, err // of a merge under way
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	own, _ := s.midx.heldLocks()
	return s.inObjects(own), nil
}

// IndexLocks returns git's own locks of the multi-pack-index, existing or not, as paths
// relative to the object directory, with slashes. A lock that a merge has is left out.
func (s *Store) IndexLocks() []string {
	_, others := s.midx.heldLocks()
	return s.inObjects(others)
}

// inObjects makes paths relative to the object directory, with slashes.
func (s *Store) inObjects(paths []string) (relative []string) {
	for _, path := range paths {
		relative = append(relative, filepath.ToSlash(strings.TrimPrefix(path, s.opts.ObjectsDir+string(filepath.Separator))))
	}
	return relative
}

// LeftKeeps returns how many packs dead processes keep from git gc. At now, any living process would
// have let go. The next Merge lets go of them.
func (s *Store) LeftKeeps(now time.Time) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	return s.sweeper.leftKeeps(now)
}
