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
	// midxPatience is the number of attempts to take a lock that git holds, lockRetry apart.
	midxPatience = 100
	// midxStale is the age above which a lock is not waited for: a dead git has most likely left
	// it.
	midxStale = time.Minute
	// midxGrace is the number of looks, lockRetry apart, after which missing packs count as
	// missing: git removes packs before it writes the index that no longer names them.
	midxGrace = 20
)

// multiIndex is git's multi-pack-index of a pack folder, and git's locks of the multi-pack-index.
type multiIndex struct {
	dir  string
	temp *tempDir
	used atomic.Bool // git uses a multi-pack-index, and packs were removed beside it
}

// missing returns the names of the packs that the multi-pack-index names and that do not exist.
// It returns none if the multi-pack-index cannot be read: a newer git may have written it.
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

// mend removes a multi-pack-index that names missing packs; aside is as for remove. The caller
// holds the merge lock. mend first removes the locks of dead merges.
func (x *multiIndex) mend(ctx context.Context, aside string) error {
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
	return x.remove(aside)
}

// locks returns the paths of git's locks of the multi-pack-index.
func (x *multiIndex) locks() []string {
	dir := x.dir
	locks := []string{filepath.Join(dir, midxFile+".lock")}
	if layers := filepath.Join(dir, midxLayers); isThere(layers) {
		locks = append(locks, filepath.Join(layers, midxChain+".lock"))
	}
	return locks
}

// lock takes git's locks of the multi-pack-index, so that git writes none until unlock. locked is
// false if git holds a lock for long. The caller holds the merge lock.
func (x *multiIndex) lock(ctx context.Context) (unlock func(), locked bool, err error) {
	var taken []string
	unlock = func() {
		for _, path := range taken {
			_ = x.temp.fs.Remove(path) // if it stays, the next merge recognizes and removes it
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

// isStuck reports whether there is a lock that is too old to wait for. The caller holds the merge
// lock.
func (x *multiIndex) isStuck() bool {
	return slices.ContainsFunc(x.locks(), func(path string) bool { return isStale(path) && !x.free(path) })
}

// isStale reports whether a lock is too old to wait for.
func isStale(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && time.Since(info.ModTime()) > midxStale //nolint:forbidigo // compared with what the file system says
}

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

// free removes a lock that a dead process of this program has left. No living process has one,
// because processes take git's locks under the merge lock, which the caller holds.
func (x *multiIndex) free(path string) bool {
	return x.temp.isOurKeep(path) && x.temp.fs.Remove(path) == nil
}

// heldLocks returns the locks that this package has made, and all others, existing or not.
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

// hasOwnLock reports whether this program has made one of the locks, in a merge under way or a dead
// one.
func (x *multiIndex) hasOwnLock() bool { return slices.ContainsFunc(x.locks(), x.temp.isOurKeep) }

// remove removes the multi-pack-index, as git repack does, under git's lock. The indexes of the
// packs have all that it has. If aside is not empty, the files are moved to that folder.
func (x *multiIndex) remove(aside string) error {
	dir := x.dir
	remove := func(path string) error {
		if aside != "" {
			return moveAside(x.temp.fs, path, aside)
		}
		if err := x.temp.fs.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	// The files that name the others go first.
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

// waitFor waits for lockRetry. It returns false if ctx ends.
func waitFor(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lockRetry):
		return true
	}
}

// clear removes the multi-pack-index if it names one of the packs. It returns false if the
// multi-pack-index cannot be read, because it may name any pack.
func (x *multiIndex) clear(packs []mergePack) (bool, error) {
	named, err := midxPacks(x.dir)
	if err != nil {
		return false, nil //nolint:nilerr // see above
	}
	if len(named) > 0 {
		x.used.Store(true)
	}
	if slices.ContainsFunc(packs, func(p mergePack) bool { return named[p.name] }) {
		return true, x.remove("")
	}
	return true, nil
}
