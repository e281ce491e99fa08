package tables

import (
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
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

// ownAttempts returns the attempts of the run itself. For a fork, it leaves out the attempts that started before
// the fork was created.
func (f *Facts) ownAttempts() []snapshot.Attempt {
	if f.Run.Parent == nil {
		return f.Attempts
	}
	var own []snapshot.Attempt
	for _, a := range f.Attempts {
		if a.StartedAtMs >= f.Run.CreatedAtMs {
			own = append(own, a)
		}
	}
	return own
}

// predictAttempts returns the predicted rows of _smithers_attempts for the run's own attempts. If an attempt is a
// wait, its row has no folder, and its meta_json describes the wait. Otherwise the folder is the root of the run's
// paths.
func (f *Facts) predictAttempts() []source.Row {
	tasks, waits, signals := f.tasks(), make(map[string]snapshot.Wait), f.peerSignals()
	for _, w := range f.Whole.Waits {
		waits[snapshot.AttemptKey(w.NodeID, w.Iteration, w.Attempt)] = w
	}
	nodes := make(map[string]snapshot.Node, len(f.Whole.Nodes))
	for _, n := range f.Whole.Nodes {
		nodes[snapshot.Key(n.NodeID, n.Iteration)] = n
	}
	var rows []source.Row
	for _, a := range f.ownAttempts() {
		row := f.predictAttempt(a)
		task := tasks[a.NodeID]
		if task == nil {
			task = new(tree.Element)
		}
		// The new variable waits reports whether the attempt is a wait.
		w, waits := waits[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]
		switch {
		case waits && w.Kind == snapshot.WaitTimer:
			row["meta_json"] = dbrow.Text(timerMeta(task, w))
		case waits:
			row["meta_json"] = dbrow.Text(WaitMeta(task, w, signals))
		default:
			row["jj_cwd"] = dbrow.Text(dbrow.RootMark)
			row["meta_json"] = dbrow.Text(computeMeta(task, nodes[snapshot.Key(a.NodeID, a.Iteration)]))
		}
		rows = append(rows, row)
	}
	return rows
}

// predictAttempt returns the predicted row of the attempt a without jj_cwd and meta_json, which depend on the
// task.
func (f *Facts) predictAttempt(a snapshot.Attempt) source.Row {
	row := source.Row{
		"node_id": dbrow.Text(a.NodeID), "iteration": dbrow.Int(int64(a.Iteration)), "attempt": dbrow.Int(int64(a.Attempt)),
		"state": dbrow.Text(a.State), "started_at_ms": dbrow.Int(a.StartedAtMs), "finished_at_ms": dbrow.NullableInt(a.FinishedAtMs),
		"response_text": dbrow.OptionalText(f.Logs[snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt)]), "cached": dbrow.Bool(a.CachedFrom != ""),
	}
	if f.Run.VCSType == snapshot.VCSJJ && a.State == snapshot.AttemptFinished {
		row["jj_pointer"] = dbrow.OptionalText(a.CommitID) // Smithers stores the commit only in a jj repository
	}
	return row
}

// tasks returns the elements of the newest rendered tree, by their ids. Without a frame, the result is empty.
func (f *Facts) tasks() map[string]*tree.Element {
	if len(f.Frames) == 0 {
		return map[string]*tree.Element{}
	}
	return tree.Parse(f.Frames[len(f.Frames)-1].Tree).ByID()
}

// computeMeta returns the predicted meta_json of an attempt that does not wait. e is the element of the task, and
// n is the task's node.
func computeMeta(e *tree.Element, n snapshot.Node) string {
	label := "null"
	if n.Label != nil {
		label = jsonobject.Quote(*n.Label)
	}
	return `{"kind":"compute","prompt":null,"staticPayload":null,"label":` + label + `,"outputTable":` + jsonobject.Quote(n.OutputTable) +
		`,"needsApproval":` + strconv.FormatBool(e.Props["needsApproval"] == "true") + `,"retries":` + e.Number("retries") +
		`,"timeoutMs":` + e.Number("timeoutMs") + `,"heartbeatTimeoutMs":` + e.Number("heartbeatTimeoutMs") +
		`,"lastHeartbeat":null,"agentId":null,"agentModel":null,"agentEngine":null,"agentResume":null,"agentConversation":null` +
		`,"resumedFromSession":null,"resumedFromConversation":false,"hijackHandoff":null}`
}
