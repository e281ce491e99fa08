package objstore

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// sweep removes what dead processes left in the middle of a write or a merge:
// our .keep files, and our packs without an index. A pack with its .keep file
// was never acknowledged. A pack without one may be a leftover of a merge, whose objects are
// elsewhere, too; or git gc removed its index, and it may be all that is left
// of a run: such a pack gets its index back at once.
//
// It is called under the merge lock. Otherwise a pack's age decides, by the file system's clock.
// Files that cannot be read or removed stay for the next sweep.
func (s *Store) sweep(ctx context.Context) {
	if now, err := s.now(); err == nil {
		s.sweepBefore(ctx, now.Add(-staleKeep))
	}
}

// now returns the time by the clock of the file system.
func (s *Store) now() (time.Time, error) {
	clock, err := s.temp.makeFile()
	if err != nil {
		return time.Time{}, err
	}
	info, err := clock.Stat()
	s.temp.remove(clock)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (s *Store) sweepBefore(ctx context.Context, limit time.Time) {
	files, err := os.ReadDir(s.main.packDir())
	if err != nil {
		return
	}
	present := make(map[string]bool, len(files))
	for _, file := range files {
		present[file.Name()] = true
	}
	for _, file := range files {
		name, isPack := strings.CutSuffix(file.Name(), ".pack")
		if !isPack || !present[name+".keep"] && present[name+".idx"] {
			continue
		}
		info, err := file.Info()
		if err != nil {
			continue
		}
		old := !info.ModTime().After(limit)
		if present[name+".keep"] && (!old || !s.dropKeep(name)) {
			continue
		}
		switch {
		case present[name+".idx"] || !headIsOurs(s.packPath(name, ".pack")):
		case present[name+".keep"]:
			_ = s.temp.fs.Remove(s.packPath(name, ".pack")) // tried again by the next merge
		default:
			s.settle(ctx, name, old)
		}
	}
}

// settle gives a pack that has no index one, unless all of its objects are elsewhere: then
// it removes an old one. One that is damaged is left for Salvage.
func (s *Store) settle(ctx context.Context, name string, old bool) {
	if s.isKept(name) || isThere(s.packPath(name, ".idx")) {
		return // it was made while the folder was read
	}
	s.main.drop(map[string]bool{name: true}) // which may have been read while it had an index
	p, err := s.openAnyway(ctx, name)
	if err != nil {
		return
	}
	defer p.close() //nolint:errcheck // it was opened for reading only
	if p.packReason != "" || p.indexReason != missingFile {
		return
	}
	if n, err := p.count(); err != nil || n != len(p.entries) {
		return
	}
	for _, e := range p.entries {
		_, err := s.main.read(e.id, s.opts.MaxObject)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
			_ = s.reindex(p, "") // tried again by the next merge
			return
		}
		if err != nil || ctx.Err() != nil {
			return
		}
	}
	if old {
		_ = s.temp.fs.Remove(p.packPath)
		return
	}
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	s.foreign[name] = true // until it is old
}

// restoreIndex gives a pack that was just published its index back if git gc took it: gc removes
// an index whose pack it has missed, since both were made while it read the folder. What cannot
// be written is left to the next sweep.
func (s *Store) restoreIndex(staged *stagedPack) {
	path := s.packPath(staged.name, ".idx")
	if isThere(path) || !isThere(s.packPath(staged.name, ".pack")) {
		return
	}
	f, err := s.temp.create()
	if err != nil {
		return
	}
	_, err = f.Write(staged.idx.whole)
	if err == nil && s.opts.Fsync == Durable {
		err = f.Sync()
	}
	if errors.Join(err, f.Close()) != nil || s.temp.rename(f.Name(), path) != nil {
		_ = s.temp.fs.Remove(f.Name()) // litter that a later process clears away
		return
	}
	if s.opts.Fsync == Durable {
		_ = s.temp.fs.SyncDir(s.main.packDir())
	}
}

func (s *Store) isForeign(name string) bool {
	s.foreignMu.Lock()
	defer s.foreignMu.Unlock()
	return s.foreign[name]
}

// hasLostIndex reports whether there is a pack of ours without an index that nobody is making.
func (s *Store) hasLostIndex() bool {
	files, err := os.ReadDir(s.main.packDir())
	if err != nil {
		return false
	}
	present := make(map[string]bool, len(files))
	for _, file := range files {
		present[file.Name()] = true
	}
	for _, file := range files {
		name, isPack := strings.CutSuffix(file.Name(), ".pack")
		if !isPack || present[name+".idx"] || present[name+".keep"] || s.isForeign(name) || isThere(s.packPath(name, ".idx")) {
			continue
		}
		if headIsOurs(s.packPath(name, ".pack")) {
			return true
		}
	}
	return false
}

// LeftKeeps returns how many packs are kept from git gc by processes that died: now is after
// any that is alive would have let go. The next Merge lets go of them.
func (s *Store) LeftKeeps(now time.Time) (int, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.life.RUnlock()
	names, err := packNames(s.main.packDir())
	if err != nil {
		return 0, err
	}
	left := 0
	for _, name := range names {
		info, err := os.Stat(s.packPath(name, ".pack"))
		if err == nil && info.ModTime().Before(now.Add(-staleKeep)) && s.temp.isOurKeep(s.packPath(name, ".keep")) {
			left++
		}
	}
	return left, nil
}

// dropKeep removes the .keep file of a pack if it is one of ours.
func (s *Store) dropKeep(name string) bool {
	path := s.packPath(name, ".keep")
	return s.temp.isOurKeep(path) && s.temp.fs.Remove(path) == nil
}

// headIsOurs is firstIsOurs of a pack file that has no index.
func headIsOurs(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it is only read
	info, err := f.Stat()
	if err != nil {
		return false
	}
	c := &packCursor{}
	c.use(f, info.Size()-packTailSize)
	ours, err := firstIsOurs(c)
	return err == nil && ours
}
