package objstore

import (
	"os"
	"strings"
	"time"
)

// sweep removes what processes left that died in the middle of a write or a merge:
// .keep files of ours, and packs of ours that never got their index or have lost
// it. It is called under the merge lock. A pack's own age decides, by the clock of the file
// system; what cannot be looked at or removed stays for the next time.
func (s *Store) sweep() {
	clock, err := s.temp.makeFile()
	if err != nil {
		return
	}
	info, err := clock.Stat()
	removeTemp(clock)
	if err != nil {
		return
	}
	s.sweepBefore(info.ModTime().Add(-staleKeep))
}

func (s *Store) sweepBefore(limit time.Time) {
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
		if err != nil || info.ModTime().After(limit) {
			continue
		}
		if present[name+".keep"] && !s.dropKeep(name) {
			continue
		}
		if !present[name+".idx"] && headIsOurs(s.packPath(name, ".pack")) {
			_ = os.Remove(s.packPath(name, ".pack")) // tried again by the next merge
		}
	}
}

// dropKeep removes the .keep file of a pack if it is one of ours.
func (s *Store) dropKeep(name string) bool {
	path := s.packPath(name, ".keep")
	return s.temp.isOurKeep(path) && os.Remove(path) == nil
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
