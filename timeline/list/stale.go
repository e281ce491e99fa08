package list

import (
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Stale reports whether a run from [Runs] has the status running, was claimed, and is owned by
// no live process. Runs of engines that claim nothing are never stale. Stale reads the claim's
// file and no history.
func Stale(s *timeline.Store, run RunInfo) bool {
	return run.Status == string(snapshot.RunRunning) && run.epoch > 0 &&
		!s.Owner(snapshot.Run{ID: run.RunID, Owner: run.owner}).Live
}
