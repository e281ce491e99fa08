package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	// midxPatience is the number of attempts, lockRetry apart, while git holds the lock of its
	// multi-pack-index.
	midxPatience = 100
	// midxStale is the age of a lock that is not waited for, because a dead git most likely left it.
	midxStale = time.Minute
	// midxGrace is how often, lockRetry apart, a look is repeated that has found packs
	// missing: git removes packs before it writes the index that no longer names them.
	midxGrace = 20
	// midxSettle is how often, lockRetry apart, Settle looks: longer than git takes from
	// reading the pack directory to writing the index, but in a repository of many gigabytes.
	midxSettle = 10
	// settlePatience is how long Settle waits for a merging process, which may be stopped.
	settlePatience = time.Second
)

// MissingPacks returns the names of the packs that a multi-pack-index names and that are not
// there. git finds objects despite it, unless the index says that they are in these packs
// and names the packs that really have them; git fsck fails in either case.
func (s *Store) MissingPacks() ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.life.RUnlock()
	return s.midxMissing()
}

// MendPacks removes a multi-pack-index that names packs which are not there: git then looks
// for objects in the packs themselves. The index is moved to the folder aside, on the same
// file system. Where git is writing one, MendPacks does nothing.
func (s *Store) MendPacks(ctx context.Context, aside string) error {
	if err := s.withMerging(ctx, func() error { return s.mendMidx(ctx, aside) }); err != nil {
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
	if !s.hasOwnMidxLock() {
		return nil, nil
	}
	lock := flock.New(filepath.Join(s.temp.path, mergeLock))
	if locked, err := lock.TryLock(); err != nil || !locked {
		return nil, err // of a merge under way
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for _, path := range s.midxLocks() {
		if s.temp.isOurKeep(path) {
			left = append(left, s.inObjects(path))
		}
	}
	return left, nil
}

// IndexLocks returns where git's locks of the multi-pack-index are when it has them, as paths
// relative to the object directory, with slashes. A lock that a merge has is left out.
func (s *Store) IndexLocks() []string {
	var files []string
	for _, path := range s.midxLocks() {
		if !s.temp.isOurKeep(path) {
			files = append(files, s.inObjects(path))
		}
	}
	return files
}

// inObjects is a path in the object directory, relative to it, with slashes.
func (s *Store) inObjects(path string) string {
	return filepath.ToSlash(strings.TrimPrefix(path, s.opts.ObjectsDir+string(filepath.Separator)))
}

// Settle looks whether git has written a multi-pack-index that names packs which this Store
// has removed: it may have read the pack directory before and have written the index
// after. Such an index goes. Where git uses none, Settle does nothing; where another process
// merges for long, it is left to that one.
func (s *Store) Settle(ctx context.Context) error {
	if !s.besideMidx.Load() {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	err := s.withMerging(waiting, func() error {
		for range midxSettle {
			if err := s.mendMidx(ctx, ""); err != nil || !waitFor(ctx) {
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

// withMerging calls f under the merge lock. It waits while another process merges.
func (s *Store) withMerging(ctx context.Context, f func() error) (err error) {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.temp.fs.MkdirAll(s.temp.path, 0o777); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(s.temp.path, mergeLock))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}

// midxMissing is MissingPacks, for a store that is entered. Of an index that cannot be read,
// which a newer git may have written, it returns nothing.
func (s *Store) midxMissing() ([]string, error) {
	dir := s.main.packDir()
	named, err := midxPacks(dir)
	if errors.Is(err, errMidx) || err == nil && len(named) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), ".pack"); ok {
			delete(named, name)
		}
	}
	var missing []string
	for name := range named {
		missing = append(missing, name)
	}
	slices.Sort(missing)
	return missing, nil
}

// mendMidx removes a multi-pack-index that names packs which are not there; aside is as for
// removeMidx. It is called under the merge lock, and first removes the lock of a merge that died.
func (s *Store) mendMidx(ctx context.Context, aside string) error {
	for _, path := range s.midxLocks() {
		s.freeMidxLock(path)
	}
	for range midxGrace {
		missing, err := s.midxMissing()
		if err != nil || len(missing) == 0 || !waitFor(ctx) {
			return err
		}
	}
	unlock, locked, err := s.lockMidx(ctx)
	if err != nil || !locked {
		return err
	}
	defer unlock()
	if missing, err := s.midxMissing(); err != nil || len(missing) == 0 {
		return err
	}
	return s.removeMidx(aside)
}

// midxLocks is the paths of git's locks of the multi-pack-index.
func (s *Store) midxLocks() []string {
	dir := s.main.packDir()
	locks := []string{filepath.Join(dir, midxFile+".lock")}
	if layers := filepath.Join(dir, midxLayers); isThere(layers) {
		locks = append(locks, filepath.Join(layers, midxChain+".lock"))
	}
	return locks
}

// lockMidx takes git's locks of the multi-pack-index, so that git writes none until unlock.
// locked is false if git holds one for long. It is called under the merge lock.
func (s *Store) lockMidx(ctx context.Context) (unlock func(), locked bool, err error) {
	var taken []string
	unlock = func() {
		for _, path := range taken {
			_ = s.temp.fs.Remove(path) // if it stays, the next merge knows it as ours and removes it
		}
	}
	for _, path := range s.midxLocks() {
		ok, err := s.takeMidxLock(ctx, path)
		if err != nil || !ok {
			unlock()
			return nil, false, err
		}
		taken = append(taken, path)
	}
	return unlock, true, nil
}

// midxIsStuck reports whether there is a lock of the multi-pack-index that is not worth waiting
// for. It is called under the merge lock.
func (s *Store) midxIsStuck() bool {
	return slices.ContainsFunc(s.midxLocks(), func(path string) bool { return isStale(path) && !s.freeMidxLock(path) })
}

// isStale reports whether a lock is older than any that is worth waiting for.
func isStale(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) > midxStale //nolint:forbidigo // compared with what the file system says
}

func (s *Store) takeMidxLock(ctx context.Context, path string) (bool, error) {
	for range midxPatience {
		made, err := s.temp.keep(path)
		if made || err != nil {
			return made, err
		}
		if !s.freeMidxLock(path) && (isStale(path) || !waitFor(ctx)) {
			break
		}
	}
	return false, nil
}

// freeMidxLock removes a lock that a process of ours has left which died. None that is
// alive has one: they take it under the merge lock, as the caller does.
func (s *Store) freeMidxLock(path string) bool {
	return s.temp.isOurKeep(path) && s.temp.fs.Remove(path) == nil
}

// hasOwnMidxLock reports whether there is a lock of ours, of a merge under way or one that died.
func (s *Store) hasOwnMidxLock() bool { return slices.ContainsFunc(s.midxLocks(), s.temp.isOurKeep) }

// removeMidx removes the multi-pack-index, as git repack does, under its lock. What it says
// is in the indexes of the packs, too. Unless aside is empty it is moved to that folder.
func (s *Store) removeMidx(aside string) error {
	dir := s.main.packDir()
	remove := func(path string) error {
		if aside != "" {
			return s.moveAside(path, aside)
		}
		if err := s.temp.fs.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	// What names the other files comes first.
	errs := []error{remove(filepath.Join(dir, midxFile)), remove(filepath.Join(dir, midxLayers, midxChain))}
	for _, folder := range []string{dir, filepath.Join(dir, midxLayers)} {
		files, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, file := range files {
			if strings.HasPrefix(file.Name(), midxFile+"-") && !strings.HasSuffix(file.Name(), ".lock") {
				errs = append(errs, remove(filepath.Join(folder, file.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// waitFor waits for lockRetry; false: ctx has ended.
func waitFor(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lockRetry):
		return true
	}
}
