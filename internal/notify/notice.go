// Package notify tells the user when a run or a session waits, fails or ends: it runs the command in the user's own
// setting smithers.notify. [Tell] queues a notice and returns; a process of its own calls [Deliver], which runs the
// command for each notice.
package notify

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Kind is the member kind of a notice as JSON.
const Kind = "notice"

// An Event is the reason of a notice.
type Event string

// The events that the user is told of.
const (
	Waits     Event = "waits"
	Ready     Event = "ready" // what the run waited for has come, and nobody executes it
	Failed    Event = "failed"
	Finished  Event = "finished"
	Cancelled Event = "cancelled"
)

// EventOf returns the event that a run with the given status has come to. It returns "" if the run goes on.
func EventOf(status snapshot.RunStatus) Event {
	switch {
	case status.Waiting():
		return Waits
	case status == snapshot.RunFailed:
		return Failed
	case status == snapshot.RunFinished:
		return Finished
	case status == snapshot.RunCancelled:
		return Cancelled
	}
	return ""
}

// A Notice is what the user is told about one run.
type Notice struct {
	Event        Event   `json:"event"`
	RunID        string  `json:"runId"`
	WorkflowName string  `json:"workflowName"` // of a session, the name of the agent
	Status       string  `json:"status"`
	Frame        int64   `json:"frame"` // the newest one
	Error        *string `json:"error"`
	Waiting      []Wait  `json:"waiting"` // what the run waits for or, if Event is Ready, what has come; empty for other events
	ParentRunID  *string `json:"parentRunId"`
	BranchLabel  *string `json:"branchLabel"` // nil unless the run is a fork
	Folder       string  `json:"folder"`      // the folder in which the run works; "" if it is not here
	AtMs         int64   `json:"atMs"`
	Command      string  `json:"command"` // that goes on with the run, if Event is Ready; otherwise ""

	FinishedAtMs *int64 `json:"finishedAtMs"`
}

// A Wait is one thing that a run waits for.
type Wait struct {
	NodeID    string  `json:"nodeId"`
	Iteration int     `json:"iteration"`
	Attempt   int     `json:"attempt"`
	For       string  `json:"for"`  // approval, human, signal, timer or, of a session, prompt
	What      string  `json:"what"` // a title, a question, a signal's name or a time; of a session, the agent's answer
	DueAtMs   *int64  `json:"dueAtMs"`
	RequestID *string `json:"requestId"`
	New       bool    `json:"new"` // this notice is the first that has the wait
}

// Of returns the notice about a run with the given row, without waits and folder.
func Of(row snapshot.Run, event Event, atMs int64) Notice {
	n := Notice{
		Event: event, RunID: row.ID, WorkflowName: row.Workflow, Status: string(row.Status), Frame: row.Frame, Waiting: []Wait{},
		AtMs: atMs, FinishedAtMs: row.FinishedAtMs,
	}
	if row.Error != "" {
		n.Error = &row.Error
	}
	if row.Parent != nil {
		n.ParentRunID, n.BranchLabel = &row.Parent.RunID, &row.Parent.Label
	}
	return n
}

// keys returns what the notice tells, as texts that are equal only for the same wait or the same end of the run.
func (n Notice) keys() []string {
	if n.Event != Waits && n.Event != Ready {
		at := int64(0)
		if n.FinishedAtMs != nil {
			at = *n.FinishedAtMs
		}
		return []string{string(n.Event) + " " + strconv.FormatInt(at, 10)}
	}
	keys := make([]string, len(n.Waiting))
	for i, w := range n.Waiting {
		keys[i] = w.For + " " + snapshot.AttemptKey(w.NodeID, w.Iteration, w.Attempt)
		if n.Event == Ready {
			keys[i] = string(Ready) + " " + keys[i]
		}
	}
	return keys
}

// document returns the notice as one line of JSON.
func (n Notice) document() ([]byte, error) {
	data, err := json.Marshal(struct {
		Kind string `json:"kind"`
		Notice
	}{Kind, n})
	return append(data, '\n'), err
}

// maxVariable is the size of the longest value of a variable, in bytes. The JSON document has the whole text.
const maxVariable = 4 << 10

// variables returns the environment that tells the notice to the command. The values come from runs, which strangers may
// have written: they are one line without control characters, and bounded.
func (n Notice) variables() []string {
	var first Wait // the first new one
	if i := slices.IndexFunc(n.Waiting, func(w Wait) bool { return w.New }); i >= 0 {
		first = n.Waiting[i]
	}
	why := ""
	if n.Error != nil {
		why = *n.Error
	}
	values := [][2]string{
		{"EVENT", string(n.Event)},
		{"RUN_ID", n.RunID},
		{"WORKFLOW", n.WorkflowName},
		{"STATUS", n.Status},
		{"FRAME", strconv.FormatInt(n.Frame, 10)},
		{"FOLDER", n.Folder},
		{"ERROR", why},
		{"WAITS_FOR", first.For},
		{"NODE_ID", first.NodeID},
		{"ITERATION", strconv.Itoa(first.Iteration)},
		{"WHAT", first.What},
		{"COMMAND", n.Command},
	}
	env := make([]string, len(values))
	for i, v := range values {
		env[i] = "SMITHERS_" + v[0] + "=" + plain.Cut(plain.Text(plain.OneLine(v[1])), maxVariable)
	}
	return env
}
