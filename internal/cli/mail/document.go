package mail

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/cli/display"
)

// A Document is one line of inbox --json.
type Document struct {
	Kind          string          `json:"kind"`
	RunID         string          `json:"runId"`
	WorkflowName  string          `json:"workflowName"`
	RunStatus     string          `json:"runStatus"`
	NodeID        string          `json:"nodeId"`
	NodeLabel     *string         `json:"nodeLabel"`
	Iteration     int             `json:"iteration"`
	RequestKind   string          `json:"requestKind"`
	Status        string          `json:"status"`
	RequestID     *string         `json:"requestId"`
	Prompt        string          `json:"prompt"`
	Summary       *string         `json:"summary"`
	Form          json.RawMessage `json:"form"`
	CorrelationID *string         `json:"correlationId"`
	RequestedAtMs int64           `json:"requestedAtMs"`
	TimeoutAtMs   *int64          `json:"timeoutAtMs"`
	Engine        *string         `json:"engine"` // the other engine that runs the run; null for none
	Untold        bool            `json:"untold"` // the engine was not told of the answer given in this repository
	Tell          *string         `json:"tell"`   // the command that passes the answer to the engine
	Ready         bool            `json:"ready"`  // what the run waits for has come, and nobody executes it
}

// A ReadyDocument is a line of inbox --json about a request that was settled, or a wait that is over, while nobody executes the run.
type ReadyDocument struct {
	Kind         string `json:"kind"`
	RunID        string `json:"runId"`
	WorkflowName string `json:"workflowName"`
	NodeID       string `json:"nodeId"`
	Iteration    int    `json:"iteration"`
	Status       string `json:"status"`  // approved, denied, answered, cancelled, expired or, of a signal or a timer, waiting
	Command      string `json:"command"` // that goes on with the run
}

// DescribeReady returns the JSON document of a line that is Ready.
func DescribeReady(l Line) ReadyDocument {
	return ReadyDocument{"ready", l.RunID, l.WorkflowName, l.NodeID, l.Iteration, l.Status, l.resume}
}

// Describe returns the JSON document of the line l of the inbox.
func Describe(l Line) Document {
	doc := Document{
		Kind: "inbox", RunID: l.RunID, WorkflowName: l.WorkflowName, RunStatus: l.RunStatus,
		NodeID: l.NodeID, NodeLabel: l.NodeLabel, Iteration: l.Iteration, RequestKind: l.Kind, Status: l.Status,
		RequestID: display.OrNull(l.RequestID), Prompt: l.Prompt, Summary: display.OrNull(l.Summary), CorrelationID: l.CorrelationID,
		RequestedAtMs: l.RequestedAtMs, TimeoutAtMs: l.TimeoutAtMs,
		Engine: display.OrNull(l.Engine), Untold: l.Untold, Tell: display.OrNull(l.tell),
		Ready: l.Ready,
	}
	if l.Form != nil {
		doc.Form = json.RawMessage(*l.Form)
	}
	return doc
}
