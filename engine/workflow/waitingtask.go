package workflow

import (
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Otherwise is what happens to a task whose wait is denied or times out.
type Otherwise string

// The values of Otherwise.
const (
	OtherwiseFail     Otherwise = "fail"     // the attempt fails
	OtherwiseContinue Otherwise = "continue" // the task finishes with an output that says so
	OtherwiseSkip     Otherwise = "skip"     // the task is skipped
)

// Approval is a task that waits for a yes or no.
type Approval struct {
	Title   *Template // nil means the task's label, or its id
	Summary *Template // nil if there is none
	OnDeny  Otherwise
}

// WaitFor is a task that takes a signal. Its output is the signal's payload.
type WaitFor struct {
	Signal         string
	Correlation    *Template // the signal's correlation id; nil means none
	AnyCorrelation bool      // any correlation id, or none; Correlation is nil
	Timeout        time.Duration
	OnTimeout      Otherwise
}

// Human is a task that asks a person. Its output is the answer.
type Human struct {
	Prompt    *Template
	Form      json.RawMessage // JSON Schema of the answer; nil means any text
	Kind      string          // the kind of its snapshot.HumanRequest
	Timeout   time.Duration
	OnTimeout Otherwise
}

// Timer is a task that waits for a time.
type Timer struct {
	After time.Duration // from its beginning; 0 means Until
	Until time.Time
}

// WaitState returns the state of a node and its attempt while its task waits; "" for a task
// that runs a command.
func (t *Task) WaitState() snapshot.NodeState {
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

// Templates returns the task's texts with placeholders, and their places in the file.
func (t *Task) Templates() (all []*Template, where []string) {
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

// Title returns the title for people of a task without a title.
func (t *Task) Title() string {
	if t.Label != "" {
		return t.Label
	}
	return t.ID
}
