package tables

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ReadAttempt converts a row of _smithers_attempts to an attempt. log is the text of an agent's response, or "" if the
// row has none. ReadAttempt leaves out an invalid jj_pointer. ok is false if the row lacks a node, an iteration, an
// attempt number or a start time, or if a run cannot store the attempt.
func ReadAttempt(row source.Row) (a snapshot.Attempt, log string, ok bool) {
	nodeID, hasNode := dbrow.ColumnText(row, "node_id")
	iteration, hasIteration := dbrow.ColumnNumber(row, "iteration")
	attempt, hasAttempt := dbrow.ColumnNumber(row, "attempt")
	started, hasStart := dbrow.ColumnNumber(row, "started_at_ms")
	if !hasNode || !hasIteration || !hasAttempt || !hasStart {
		return snapshot.Attempt{}, "", false
	}
	a = snapshot.Attempt{
		NodeID: nodeID, Iteration: int(iteration), Attempt: int(attempt),
		StartedAtMs: started, FinishedAtMs: dbrow.ColumnNumberOrNil(row, "finished_at_ms"),
	}
	state, _ := dbrow.ColumnText(row, "state")
	a.State = attemptState(state, a.FinishedAtMs != nil)
	a.Error = errorText(row)
	if cached, _ := dbrow.ColumnNumber(row, "cached"); cached != 0 {
		a.CachedFrom = snapshot.CachedElsewhere
	}
	if pointer, _ := dbrow.ColumnText(row, "jj_pointer"); IsRevision(pointer) {
		a.CommitID = pointer
	}
	if _, err := snapshot.DecodeAttempt(snapshot.EncodeAttempt(a)); err != nil {
		return snapshot.Attempt{}, "", false
	}
	log, _ = dbrow.ColumnText(row, "response_text")
	return a, log, true
}

// attemptState maps Smithers' state of an attempt to a state of snapshot.Attempt. ended reports whether the attempt has
// an end. An unknown state of an ended attempt becomes failed. If the attempt has no end, an unknown state that begins
// with "waiting" becomes waiting for an event, and any other unknown state becomes in progress.
func attemptState(state string, ended bool) string {
	switch state {
	case snapshot.AttemptInProgress, snapshot.AttemptFinished, snapshot.AttemptFailed, snapshot.AttemptCancelled,
		string(snapshot.NodeWaitingApproval), string(snapshot.NodeWaitingHuman),
		string(snapshot.NodeWaitingEvent), string(snapshot.NodeWaitingTimer):
		return state
	case "skipped", "canceled":
		return snapshot.AttemptCancelled
	}
	switch {
	case ended:
		return snapshot.AttemptFailed
	case strings.HasPrefix(state, "waiting"):
		return string(snapshot.NodeWaitingEvent)
	}
	return snapshot.AttemptInProgress
}

// maxRevision is the maximum length of a commit id that a run can store.
const maxRevision = 128

// IsRevision reports whether a run can store s as a commit id: s has at most maxRevision digits and lower-case
// letters. It returns true for "".
func IsRevision(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(s) <= maxRevision
}

// errorText returns the error in the column error_json as text. The text is "NAME: MESSAGE", where NAME is the error's
// code or, without a code, its name. If NAME or MESSAGE is missing, the text is the other part alone. If the column's
// text is not a JSON object, errorText returns this text unchanged. If the column has no text, it returns "".
func errorText(row source.Row) string {
	text, ok := dbrow.ColumnText(row, "error_json")
	if !ok {
		return ""
	}
	members, err := jsonobject.Parse([]byte(text))
	if err != nil {
		return text
	}
	name, message := jsonobject.TextOf(members, "code"), jsonobject.TextOf(members, "message")
	if name == "" {
		name = jsonobject.TextOf(members, "name")
	}
	switch {
	case message == "":
		return name
	case name == "":
		return message
	}
	return name + ": " + message
}
