package objstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// midxPatience is the number of attempts, lockRetry apart, to take a lock that git holds.
	midxPatience = 100
	// midxStale is the age above which a merge does not wait for a lock. A git process that died has most
	// likely left such a lock.
	midxStale = time.Minute
	// midxGrace is the number of checks, lockRetry apart, after which packs count as missing. git removes packs
	// first and then writes a multi-pack-index that no longer names these packs.
	midxGrace = 20
)

// multiIndex manages git's multi-pack-index of a pack folder, and git's locks of that
// multi-pack-index.
type multiIndex struct {
	dir  string
	temp *tempDir
	used atomic.Bool // packs were removed while a multi-pack-index existed
}

// missing returns the sorted names of the packs that are in the multi-pack-index but do not exist. It returns
// nil if there is no multi-pack-index. It also returns nil if the multi-pack-index is malformed, because a
// newer git may have written a form that this program does not know.
func (x *multiIndex) missing() ([]string, error) {
	dir := x.dir
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

// mend removes the multi-pack-index if packs in it are missing. If asideDir is not "", mend moves the
// multi-pack-index to this folder instead. mend first removes the locks of dead merges. Then it waits a while,
// because git may be about to write a new multi-pack-index. If git holds a lock for a long time, or ctx ends
// while mend waits, mend leaves the multi-pack-index in place and returns nil. The caller holds the merge lock.
func (x *multiIndex) mend(ctx context.Context, asideDir string) error {
	for _, path := range x.locks() {
		x.free(path)
	}
	for range midxGrace {
		missing, err := x.missing()
		if err != nil || len(missing) == 0 || !waitFor(ctx) {
			return err
		}
	}
	unlock, locked, err := x.lock(ctx)
	if err != nil || !locked {
		return err
	}
	defer unlock()
	if missing, err := x.missing(); err != nil || len(missing) == 0 {
		return err
	}
	return x.remove(asideDir)
}

// locks returns the paths of git's locks of the multi-pack-index, whether the locks exist or not.
func (x *multiIndex) locks() []string {
	dir := x.dir
	locks := []string{filepath.Join(dir, midxFile+".lock")}
	if layers := filepath.Join(dir, midxLayers); isThere(layers) {
		locks = append(locks, filepath.Join(layers, midxChain+".lock"))
	}
	return locks
}

// lock takes git's locks of the multi-pack-index, so that git does not write a multi-pack-index until the
// caller calls unlock. locked is false and unlock is nil if git holds a lock for a long time, if a dead git
// left a lock, if ctx ends, or after an error. The caller holds the merge lock.
func (x *multiIndex) lock(ctx context.Context) (unlock func(), locked bool, err error) {
	var taken []string
	unlock = func() {
		for _, path := range taken {
			_ = x.temp.fs.Remove(path) // the next merge recognizes and removes a lock that stays
		}
	}
	for _, path := range x.locks() {
		ok, err := x.take(ctx, path)
		if err != nil || !ok {
			unlock()
			return nil, false, err
		}
		taken = append(taken, path)
	}
	return unlock, true, nil
}

// isStuck reports whether a lock is older than midxStale and is not of this program. If a dead merge of this
// program left an old lock, isStuck removes the lock. The caller holds the merge lock.
func (x *multiIndex) isStuck() bool {
	return slices.ContainsFunc(x.locks(), func(path string) bool { return isStale(path) && !x.free(path) })
}

// isStale reports whether the lock at path exists and is older than midxStale.
func isStale(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) > midxStale //nolint:forbidigo // The time is only compared with the time of a file.
}

// take creates the lock at path and returns true. If the lock exists, take waits for its removal. It removes a
// lock that a dead merge of this program left. It returns false if git holds the lock for a long time, if the
// lock is stale, or if ctx ends.
func (x *multiIndex) take(ctx context.Context, path string) (bool, error) {
	for range midxPatience {
		made, err := x.temp.keep(path)
		if made || err != nil {
			return made, err
		}
		if !x.free(path) && (isStale(path) || !waitFor(ctx)) {
			break
		}
	}
	return false, nil
}

// free removes the lock at path if a dead process of this program left the lock, and reports whether it removed
// the lock. The caller holds the merge lock. A process of this program takes git's locks only under the merge
// lock, so any such lock belongs to a dead process.
func (x *multiIndex) free(path string) bool {
	return x.temp.isOurKeep(path) && x.temp.fs.Remove(path) == nil
}

// heldLocks returns the paths of the locks that this program has made in own. It returns the paths of all other
// locks in others, even if these locks do not exist.
func (x *multiIndex) heldLocks() (own, others []string) {
	for _, path := range x.locks() {
		if x.temp.isOurKeep(path) {
			own = append(own, path)
		} else {
			others = append(others, path)
		}
	}
	return own, others
}

// hasOwnLock reports whether a lock exists that this program has made. The merge that made the lock may still
// run or may have died.
func (x *multiIndex) hasOwnLock() bool { return slices.ContainsFunc(x.locks(), x.temp.isOurKeep) }

// remove removes all files of the multi-pack-index, as git repack does. If asideDir is not "", remove moves the
// files to this folder instead. No object is lost, because the packs' own indexes list all objects. The caller
// holds git's locks of the multi-pack-index.
func (x *multiIndex) remove(asideDir string) error {
	dir := x.dir
	remove := func(path string) error {
		if asideDir != "" {
			return moveAside(x.temp.fs, path, asideDir)
		}
		if err := x.temp.fs.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	// The multi-pack-index and the chain refer to the other files, so remove these two first.
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

// waitFor waits for lockRetry and returns true. If ctx ends first, it returns false.
func waitFor(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lockRetry):
		return true
	}
}

// clear ensures that the multi-pack-index names none of packs, so that the caller can remove packs. If the
// multi-pack-index names any of packs, clear removes the multi-pack-index. If the multi-pack-index names any
// pack at all, clear also sets used.
//
// clear returns true if the caller can remove packs. If the multi-pack-index is unreadable, clear removes
// nothing and returns false without an error, because the multi-pack-index may name any pack.
func (x *multiIndex) clear(packs []mergePack) (bool, error) {
	named, err := midxPacks(x.dir)
	if err != nil {
		return false, nil //nolint:nilerr // An unreadable multi-pack-index is not an error for the caller.
	}
	if len(named) > 0 {
		x.used.Store(true)
	}
	if slices.ContainsFunc(packs, func(p mergePack) bool { return named[p.name] }) {
		return true, x.remove("")
	}
	return true, nil
}
