package objstore

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// sweeper removes the remains of dead processes from a pack folder.
type sweeper struct {
	dir    *objectDir
	files  packFiles
	packs  *packMaker
	owners *packOwners
}

// sweep removes the remains of processes that died during a write or a merge: .keep files of this program, and
// its packs without an index. A write whose pack has a .keep file was never acknowledged, so sweep may remove a
// pack with a .keep file and without an index.
//
// A pack of this program without a .keep file and without an index gets a new index, unless other files have
// all of its objects: git gc may have removed the index, and the pack may have the only copy of a run.
//
// The caller holds the merge lock. sweep removes a .keep file only if its pack is older than staleKeep by the
// file system's clock, because the process that made a newer pack may be alive. sweep ignores errors; the next
// sweep tries again.
func (s *sweeper) sweep(ctx context.Context) {
	if now, err := s.files.temp.now(); err == nil {
		s.sweepBefore(ctx, now.Add(-staleKeep))
	}
}

// sweepBefore removes the remains of dead processes for sweep. A pack is old if its file time is not after
// limit. If an old pack has a .keep file of this program, sweepBefore removes the .keep file, and also removes
// the pack if the pack has no index. It calls mendLost for a pack of this program, old or not, that has neither
// a .keep file nor an index. It ignores errors.
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
		// A pack with an index and without a .keep file is complete.
		if !isPack || !present[name+".keep"] && present[name+".idx"] {
			continue
		}
		info, err := file.Info()
		if err != nil {
			continue
		}
		old := !info.ModTime().After(limit)
		// Leave the pack alone: its process may be alive, or the .keep file is of another program.
		if present[name+".keep"] && (!old || !s.files.dropKeep(name)) {
			continue
		}
		switch {
		case present[name+".idx"] || !headIsOurs(s.files.path(name, ".pack"), s.dir.hash):
		case present[name+".keep"]: // the write died before it made the index; dropKeep has removed the .keep file
			_ = s.files.temp.fs.Remove(s.files.path(name, ".pack")) // the next merge tries again
		default:
			s.mendLost(ctx, name, old)
		}
	}
}

// mendLost writes the index of the pack with the given name, which lost its index, unless other files have all
// objects of the pack. If other files have all objects, mendLost removes the pack if old is true, and otherwise
// marks the pack with setForeign. It does not touch a damaged pack, which [Store.Salvage] can save, nor a pack
// that has a .keep file or an index by now. It ignores errors; the next sweep tries again.
func (s *sweeper) mendLost(ctx context.Context, name string, old bool) {
	if s.files.isKept(name) || isThere(s.files.path(name, ".idx")) {
		return // a process made the file after sweepBefore read the folder
	}
	s.dir.drop(map[string]bool{name: true}) // readers may have opened the pack with its old index
	p, err := s.dir.openAnyway(ctx, name)
	if err != nil {
		return
	}
	defer p.close() //nolint:errcheck // The pack was opened for reading only.
	if p.packReason != "" || p.indexReason != missingFile {
		return
	}
	if n, err := p.count(); err != nil || n != len(p.entries) {
		return
	}
	for _, e := range p.entries {
		_, err := s.dir.read(e.id, s.dir.maxObject)
		if errors.Is(err, ErrNotFound) || errors.Is(err, ErrCorrupt) {
			_ = s.packs.reindex(p, "") // the next merge tries again
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
	s.owners.setForeign(name) // hasLostIndex then ignores the pack until a sweep removes it
}

// hasLostIndex reports whether a pack of this program has no index although no process is writing
// the pack. It ignores packs that setForeign has marked, and returns false if the folder is
// unreadable.
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
		if headIsOurs(s.files.path(name, ".pack"), s.dir.hash) {
			return true
		}
	}
	return false
}

// leftKeeps returns the number of packs that have a .keep file of this program and are older than staleKeep at
// the time now. The processes that made these .keep files have died.
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
