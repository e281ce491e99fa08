package timeline

import (
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Descends reports whether the chain of an entry leads to another entry, or is the same entry.
// The zero id has no descendants.
func Descends(objects objstore.Reader, from, to objstore.ID) bool {
	if from.IsZero() || to.IsZero() {
		return false
	}
	for id := from; ; {
		if id == to {
			return true
		}
		entry, err := snapshot.ReadEntry(objects, id)
		if err != nil || entry.Parent.IsZero() {
			return false
		}
		id = entry.Parent
	}
}
