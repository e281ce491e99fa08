package engine

import (
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Otherwise is what becomes of a task that waited and did not get what it waited for.
type Otherwise string

// The values of Otherwise.
const (
	OtherwiseFail     Otherwise = "fail"     // the attempt has failed
	OtherwiseContinue Otherwise = "continue" // the task is finished, with an output that says so
	OtherwiseSkip     Otherwise = "skip"     // the task is skipped
)

// Approval is a task at which somebody says yes or no.
type Approval struct {
	Title   *Template // nil: the task's label, or its id
	Summary *Template // nil for none
	OnDeny  Otherwise
}

// WaitFor is a task that takes a signal; its output is the signal's payload.
type WaitFor struct {
	Signal         string
	Correlation    *Template // that the signal must have; nil: it must have none
	AnyCorrelation bool      // whatever the signal has; Correlation is nil
	Timeout        time.Duration
	OnTimeout      Otherwise
}

// Human is a task that asks people something; its output is their answer.
type Human struct {
	Prompt    *Template
	Form      json.RawMessage // JSON Schema of the answer; nil: any text
	Kind      string          // of snapshot.HumanRequest
	Timeout   time.Duration
	OnTimeout Otherwise
}

// Timer is a task that waits for a time to come.
type Timer struct {
	After time.Duration // from when it begins; 0: Until says
	Until time.Time
}

// state is the state of a node, and of its attempt, while its task waits; "" for one
// that runs a command.
func (t *Task) state() snapshot.NodeState {
	switch {
	case t.Approval != nil:
		return snapshot.NodeWaitingApproval
	case t.Human != nil:
		return snapshot.NodeWaitingHuman
	case t.WaitFor != nil:
		return snapshot.NodeWaitingEvent
	case t.Timer != nil:
		return snapshot.NodeWaitingTimer
	}
	return ""
}

// templates are the texts of the task that have placeholders, and where they stand.
func (t *Task) templates() (all []*Template, where []string) {
	add := func(name string, tpl *Template) {
		if tpl != nil {
			all, where = append(all, tpl), append(where, name)
		}
	}
	switch {
	case t.Approval != nil:
		add("approval.title", t.Approval.Title)
		add("approval.summary", t.Approval.Summary)
	case t.Human != nil:
		add("human.prompt", t.Human.Prompt)
	case t.WaitFor != nil:
		add("wait_for.correlation", t.WaitFor.Correlation)
	}
	return all, where
}
