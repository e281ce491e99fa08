package dbrun

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Attempt is a row of _smithers_attempts as an attempt of git-smithers.
type Attempt struct {
	Attempt snapshot.Attempt
	Log     string          // "" if the row has no log
	Wait    *tables.WaitRow // nil if the attempt is not a wait
}

// EndedBy reports whether the attempt ended at atMs or before.
func (a *Attempt) EndedBy(atMs int64) bool {
	return a.Attempt.FinishedAtMs != nil && *a.Attempt.FinishedAtMs <= atMs
}

// Then returns the attempt as it was at the time atMs. If the attempt ended after atMs, the result is in
// progress, without an end time, an error and a commit. The second result is false if the attempt began after
// atMs.
func (a *Attempt) Then(atMs int64) (snapshot.Attempt, bool) {
	was := a.Attempt
	if ended := was.FinishedAtMs; ended != nil && *ended > atMs {
		was.State, was.FinishedAtMs, was.Error, was.CommitID = snapshot.AttemptInProgress, nil, "", ""
	}
	return was, was.StartedAtMs <= atMs
}
