package land

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/flock"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Lock makes sure that no other process lands in the working copy of the store, or takes a landing back there, until the
// caller calls unlock. The operating system frees the lock of a dead process. Codes: no_working_copy; land_refused if another
// process has the lock.
func Lock(s *timeline.Store) (unlock func(), err error) {
	if s.Workspace().Root == "" {
		return nil, timeline.Explain(jjbridge.ErrNoWorkingCopy)
	}
	held := flock.New(openPath(s)+".lock", flock.SetPermissions(0o666))
	locked, err := held.TryLock()
	if err != nil {
		return nil, timeline.Explain(fmt.Errorf("the working copy cannot be locked for a landing: %w", err))
	}
	if !locked {
		return nil, fault.New(fault.LandRefused, "another process is landing in this working copy, or takes a landing back").
			Hint("wait until it has ended, then try again")
	}
	return func() { _ = held.Close() }, nil
}
