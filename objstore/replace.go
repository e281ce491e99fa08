package objstore

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// removeMerged removes the packs that the pack named output replaces, and returns
// their names. It leaves those alone that somebody has taken under protection meanwhile.
// The caller has git's lock of the multi-pack-index since before output was published.
//
// Beside git gc and git repack this is safe without a .keep for the output: what it
// holds comes from packs without .keep, so the refs to it have moved before. A
// repack that has seen the output packs all that is reachable before it removes it;
// one that has not seen it does not remove it; and whoever still reads an input
// finds the output when it looks for packs again, as git does.
//
// Beside git multi-pack-index it is safe because no index knows the output yet, so that no
// git multi-pack-index expire under way removes it; and because the output is dated after
// every pack that it replaces: no later index that names both says that an object is in the
// older one. A pack that git has dated anew meanwhile stays. An index that git writes later
// and that names packs which are gone, since it has read the folder before, [Store.Merge]
// removes when it looks next (decision 33).
func (s *Store) removeMerged(inputs []mergePack, output string) (_ map[string]bool, err error) {
	var made time.Time // of the output
	if output != "" {
		if made, err = s.madeOf(output); errors.Is(err, fs.ErrNotExist) {
			return nil, nil // git has taken the output away, and has its objects elsewhere
		} else if err != nil {
			return nil, err
		}
	}
	goes := func(input mergePack) bool {
		at, err := s.madeOf(input.name)
		return err == nil && input.name != output && !s.isKept(input.name) &&
			(output == "" || at.Unix() < made.Unix())
	}
	inputs = slices.DeleteFunc(slices.Clone(inputs), func(p mergePack) bool { return !goes(p) })
	if known, err := s.clearMidx(inputs); err != nil || !known {
		return nil, err
	}
	if err := s.failpoint("merge-before-removes"); err != nil {
		return nil, err
	}
	gone := make(map[string]bool)
	for _, input := range inputs {
		if !goes(input) {
			continue
		}
		gone[input.name] = true
		// The index first: git finds packs by it, and none without its pack.
		for _, suffix := range []string{".idx", ".rev", ".pack"} {
			err := s.temp.fs.Remove(s.packPath(input.name, suffix))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return gone, err
			}
		}
		if err := s.failpoint("merge-between-removes"); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// clearMidx removes the multi-pack-index if it names one of the packs. It returns false if
// there is one that cannot be read: any pack may be in it.
func (s *Store) clearMidx(packs []mergePack) (bool, error) {
	named, err := midxPacks(s.main.packDir())
	if err != nil {
		return false, nil //nolint:nilerr // see above
	}
	if len(named) > 0 {
		s.besideMidx.Store(true)
	}
	if slices.ContainsFunc(packs, func(p mergePack) bool { return named[p.name] }) {
		return true, s.removeMidx("")
	}
	return true, nil
}

// madeOf is the time of a pack that has an index.
func (s *Store) madeOf(name string) (time.Time, error) {
	if _, err := os.Stat(s.packPath(name, ".idx")); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(s.packPath(name, ".pack"))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// isKept reports whether a pack has a .keep file.
func (s *Store) isKept(name string) bool {
	_, err := os.Lstat(s.packPath(name, ".keep"))
	return err == nil
}
