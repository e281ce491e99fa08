package objstore

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// sweeper clears away what dead processes have left in a pack folder.
type sweeper struct {
	dir    *objectDir
	files  packFiles
	packs  *packMaker
	owners *packOwners
}

// sweep removes what processes have left that died in the middle of a write or a merge: .keep files
// of this program, and its packs without an index. A pack with a .keep file was never acknowledged.
// A pack without a .keep file and without an index gets its index back at once, unless all of its
// objects are elsewhere: git gc may have removed the index, and the pack may be all that is left of
// a run.
//
// The caller holds the merge lock. Otherwise the age of a pack decides, by the file system's clock.
// Files that cannot be read or removed stay for the next sweep.
func (s *sweeper) sweep(ctx context.Context) {
	if now, err := s.files.temp.now(); err == nil {
		s.sweepBefore(ctx, now.Add(-staleKeep))
	}
}

func (s *sweeper) sweepBefore(ctx context.Context, limit time.Time) {
	files, err := os.ReadDir(s.files.dir)
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
		if present[name+".keep"] && (!old || !s.files.dropKeep(name)) {
			continue
		}
		switch {
		case present[name+".idx"] || !headIsOurs(s.files.path(name, ".pack")):
		case present[name+".keep"]:
			_ = s.files.temp.fs.Remove(s.files.path(name, ".pack")) // tried again by the next merge
		default:
			s.mendLost(ctx, name, old)
		}
	}
}

// mendLost writes the index of a pack that has none, unless all of its objects are elsewhere. In
// that case it removes the pack once it is old. A damaged pack is left for Salvage.
func (s *sweeper) mendLost(ctx context.Context, name string, old bool) {
	if s.files.isKept(name) || isThere(s.files.path(name, ".idx")) {
		return // made after the folder was read
	}
	s.dir.drop(map[string]bool{name: true}) // it may have been opened while it had an index
	p, err := s.dir.openAnyway(ctx, name)
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
		_, err := s.dir.read(e.id, s.dir.maxObject)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
			_ = s.packs.reindex(p, "") // tried again by the next merge
			return
		}
		if err != nil || ctx.Err() != nil {
			return
		}
	}
	if old {
		_ = s.files.temp.fs.Remove(p.packPath)
		return
	}
	s.owners.setForeign(name) // until it is old
}

// hasLostIndex reports whether one of this program's packs has no index, and no process is making
// one.
func (s *sweeper) hasLostIndex() bool {
	files, err := os.ReadDir(s.files.dir)
	if err != nil {
		return false
	}
	present := make(map[string]bool, len(files))
	for _, file := range files {
		present[file.Name()] = true
	}
	for _, file := range files {
		name, isPack := strings.CutSuffix(file.Name(), ".pack")
		if !isPack || present[name+".idx"] || present[name+".keep"] || s.owners.isForeign(name) || isThere(s.files.path(name, ".idx")) {
			continue
		}
		if headIsOurs(s.files.path(name, ".pack")) {
			return true
		}
	}
	return false
}

// leftKeeps returns how many packs are kept from git gc by processes that died before now.
func (s *sweeper) leftKeeps(now time.Time) (int, error) {
	names, err := packNames(s.files.dir)
	if err != nil {
		return 0, err
	}
	left := 0
	for _, name := range names {
		info, err := os.Stat(s.files.path(name, ".pack"))
		if err == nil && info.ModTime().Before(now.Add(-staleKeep)) && s.files.isKeptByUs(name) {
			left++
		}
	}
	return left, nil
}
