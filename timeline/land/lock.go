package land

import (
	"fmt"

	"github.com/gofrs/flock"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// lock makes sure that no other process lands in the working copy of the store until the caller calls unlock. The operating
// system frees the lock of a dead process. Code: land_refused if another process is landing.
func lock(s *timeline.Store) (unlock func(), err error) {
	held := flock.New(openPath(s)+".lock", flock.SetPermissions(0o666))
	locked, err := held.TryLock()
	if err != nil {
		return nil, timeline.Explain(fmt.Errorf("the working copy cannot be locked for a landing: %w", err))
	}
	if !locked {
		return nil, fault.New(fault.LandRefused, "another process is landing in this working copy").Hint("wait until it has ended, then try again")
	}
	return func() { _ = held.Close() }, nil
}

// notUnderWay returns land_refused if another process is landing in the working copy of the store.
func notUnderWay(s *timeline.Store) error {
	unlock, err := lock(s)
	if err == nil {
		unlock()
	}
	return err
}
