package dbrun

import (
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Attempt is a row of _smithers_attempts in our form.
type Attempt struct {
	Attempt snapshot.Attempt
	Log     string
	Wait    *tables.WaitRow // nil if the attempt does not wait
	Done    bool            // before this pass, a frame after the first one since it ended had it in its journal
}

// EndedBy reports whether the attempt had ended at a time.
func (a *Attempt) EndedBy(atMs int64) bool {
	return a.Attempt.FinishedAtMs != nil && *a.Attempt.FinishedAtMs <= atMs
}

// Then returns the attempt as it was at a time, and reports whether it had begun.
func (a *Attempt) Then(atMs int64) (snapshot.Attempt, bool) {
	was := a.Attempt
	if ended := was.FinishedAtMs; ended != nil && *ended > atMs {
		was.State, was.FinishedAtMs, was.Error, was.CommitID = snapshot.AttemptInProgress, nil, "", ""
	}
	return was, was.StartedAtMs <= atMs
}
