package keep

import (
	"github.com/git-smithers/git-smithers/objstore"
)

// neverAcknowledged reports whether the entries of a run that no ref leads to are what a process left that was killed before
// it acknowledged the first of them: they are only in packs that it still kept for itself, which it lets go of before it
// acknowledges anything.
//
// A day later these packs are tidied up, and nothing tells such entries from a run whose refs are lost.
func (e *examination) neverAcknowledged(run string, reached map[objstore.ID]bool) (bool, error) {
	for id := range e.entries[run] {
		if reached[id] {
			continue
		}
		if left, err := e.parts.Objects.Unacknowledged(id); err != nil || !left {
			return false, err
		}
	}
	return true, nil
}
