package list

import (
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Stale tells of a run from [Runs] whether it is running by its row, was claimed,
// and no live process owns it. Runs of engines that claim nothing are never stale. It
// looks at the claim's file, and reads no history.
func Stale(s *timeline.Store, run RunInfo) bool {
	return run.Status == string(snapshot.RunRunning) && run.epoch > 0 &&
		!s.Owner(snapshot.Run{ID: run.RunID, Owner: run.owner}).Live
}
