package list

import (
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Stale reports whether run, a result of [Runs], has the status running but no live process that owns it, and was not claimed by another clone. The
// runs of engines that do not claim their runs are not stale, until a travel or a restore has claimed them. Stale reads only the file of the claim, not
// the history.
func Stale(s *timeline.Store, run RunInfo) bool {
	if run.Status != string(snapshot.RunRunning) || run.epoch == 0 {
		return false
	}
	owner := s.Owner(snapshot.Run{ID: run.RunID, Owner: run.owner})
	return !owner.Live && !owner.Elsewhere
}
