package secretscan

import (
	"bytes"
	"os"

	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	memoryFile = "scanned" // the InPlace name of the file
	// maxRemembered bounds the memory: 20 or 32 MB.
	maxRemembered = 1_000_000
)

// memory has the objects that were searched and are clean, as long as the same things count as secrets. Without the file,
// everything is searched again.
type memory struct {
	head  []byte // the first line of the file: says what counts as a secret
	ids   map[objstore.ID]struct{}
	added []objstore.ID
}

// memoryPath returns the path of the memory's file.
func memoryPath(s *timeline.Store) string { return s.InPlace(memoryFile) }

// openMemory reads the memory. fingerprint says what counts as a secret; another fingerprint, or a file that cannot be
// read, begins an empty memory.
func openMemory(s *timeline.Store, fingerprint string) *memory {
	m := &memory{head: []byte("clean, with names " + fingerprint + "\n"), ids: make(map[objstore.ID]struct{})}
	data, err := os.ReadFile(memoryPath(s))
	if err != nil {
		return m
	}
	ids, ok := bytes.CutPrefix(data, m.head)
	idSize := s.Objects().Hash().Size()
	for ok && len(ids) >= idSize && len(m.ids) < maxRemembered {
		if id, err := objstore.IDFromBytes(ids[:idSize]); err == nil {
			m.ids[id] = struct{}{}
		}
		ids = ids[idSize:]
	}
	return m
}

// has reports whether an object is known to be clean.
func (m *memory) has(id objstore.ID) bool {
	_, ok := m.ids[id]
	return ok
}

// add notes that an object is clean.
func (m *memory) add(id objstore.ID) { m.added = append(m.added, id) }

// save writes the memory. Of two processes, the last one wins. A failure is a warning, because the next scan then searches
// everything again.
func (m *memory) save(s *timeline.Store) {
	if len(m.added) == 0 {
		return
	}
	data := bytes.Clone(m.head)
	for id := range m.ids {
		if len(m.ids)+len(m.added) > maxRemembered {
			break // begin anew
		}
		data = id.AppendTo(data)
	}
	for _, id := range m.added[:min(len(m.added), maxRemembered)] {
		data = id.AppendTo(data)
	}
	if err := fsx.Replace(memoryPath(s), data, 0o600); err != nil {
		s.Warn(err)
	}
}
