package sqliteindex

import (
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// readAttempts returns the attempts of head that are new or changed since base, sorted by key. base is the id of an
// indexed entry. If base is the zero id, readAttempts returns all attempts of head. Attempts are never removed: if
// head lacks an attempt of base, the error wraps objstore.ErrCorrupt.
func readAttempts(r objstore.Reader, head *snapshot.Entry, base objstore.ID) ([]snapshot.Attempt, error) {
	now, err := head.Attempts()
	if err != nil {
		return nil, err
	}
	before, err := page.Open(r, objstore.ID{}) // the empty collection
	if err != nil {
		return nil, err
	}
	if !base.IsZero() {
		entry, err := snapshot.ReadEntry(r, base)
		if err != nil {
			return nil, err
		}
		if before, err = entry.Attempts(); err != nil {
			return nil, err
		}
	}
	var attempts []snapshot.Attempt
	for delta, err := range page.Diff(before, now) {
		if err != nil {
			return nil, err
		}
		if delta.To == nil {
			return nil, malformed(head.ID, "an attempt is missing from the journal")
		}
		a, err := snapshot.DecodeAttempt(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, a)
	}
	return attempts, nil
}
