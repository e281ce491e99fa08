package list

import (
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Inherited knows the attempts that a fork has from its parent.
type Inherited struct {
	attempts *page.Collection // of the frame from which the run was forked; nil if the run is not a fork
}

// InheritedBy returns the attempts that the run of row has from its parent. A run that is not a fork has none.
func InheritedBy(s *timeline.Store, row snapshot.Run) (Inherited, error) {
	if row.Parent == nil {
		return Inherited{}, nil
	}
	entry, err := snapshot.ReadEntry(s.Objects(), row.Parent.Commit)
	if err != nil {
		return Inherited{}, timeline.Explain(err)
	}
	attempts, err := entry.Attempts()
	return Inherited{attempts}, timeline.Explain(err)
}

// Has reports whether an attempt had ended at the frame from which the run was forked. An attempt that was running there
// ends in the fork, and counts as the fork's own. So does an attempt that began at another time than the parent's.
func (i Inherited) Has(a snapshot.Attempt) (bool, error) {
	if i.attempts == nil {
		return false, nil
	}
	key := snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)
	value, ok, err := i.attempts.Get(key)
	if err != nil || !ok {
		return false, timeline.Explain(err)
	}
	before, err := snapshot.DecodeAttempt(page.Row{Key: key, Value: value})
	return before.FinishedAtMs != nil && before.StartedAtMs == a.StartedAtMs, timeline.Explain(err)
}
