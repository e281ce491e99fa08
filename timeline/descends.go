package timeline

import (
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Descends reports whether from is the entry to, or has the entry to among its ancestors, also across forks. It
// returns false if from or to is zero, or if an entry between them is unreadable.
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
