package timeline

import (
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Descends reports whether an entry is, or descends from, another entry, also across forks. descendant and
// ancestor are the ids of the two entries. Descends returns false if an id is zero, or if an entry between the two
// is unreadable.
func Descends(objects objstore.Reader, descendant, ancestor objstore.ID) bool {
	if descendant.IsZero() || ancestor.IsZero() {
		return false
	}
	for id := descendant; ; {
		if id == ancestor {
			return true
		}
		entry, err := snapshot.ReadEntry(objects, id)
		if err != nil || entry.Parent.IsZero() {
			return false
		}
		id = entry.Parent
	}
}
