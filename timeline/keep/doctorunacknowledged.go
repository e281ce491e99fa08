package keep

import (
	"github.com/git-smithers/git-smithers/objstore"
)

// neverAcknowledged reports whether a killed process left the entries of a run without acknowledging any of them. Such
// entries are only in packs that the process still kept locked, because it releases its packs before it acknowledges.
//
// After a day, the packs are merged, and the entries look like those of a run that lost its refs.
func (e *examination) neverAcknowledged(run string, reached map[objstore.ID]bool) (bool, error) {
	for id := range e.entries[run] {
		if reached[id] {
			continue
		}
		if left, err := e.store.Objects().Unacknowledged(id); err != nil || !left {
			return false, err
		}
	}
	return true, nil
}
