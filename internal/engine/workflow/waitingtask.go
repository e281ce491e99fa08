package workflow

import (
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Otherwise is the effect of a denial or a timeout on the task that waits.
type Otherwise string

// The values of Otherwise.
const (
	OtherwiseFail     Otherwise = "fail"     // the attempt fails
	OtherwiseContinue Otherwise = "continue" // the task finishes; its output is the denial, or null after a timeout
	OtherwiseSkip     Otherwise = "skip"     // the task is skipped
)

// Approval is a task that waits for a yes or no.
type Approval struct {
	Title   *Template // nil means the task's label, or else the task's id
	Summary *Template // nil if the approval has no summary
	OnDeny  Otherwise // the effect of a denial
}

// WaitFor is a task that takes a signal. Its output is the signal's payload.
type WaitFor struct {
	Signal         string
	Correlation    *Template     // the signal's correlation id; nil means a signal without one, unless AnyCorrelation is set
	AnyCorrelation bool          // the signal may have any correlation id, or none
	Timeout        time.Duration // 0 means no timeout
	OnTimeout      Otherwise
}

// Human is a task that asks a person. Its output is the answer.
type Human struct {
	Prompt    *Template
	Form      json.RawMessage // JSON Schema of the answer; nil means any text
	Kind      string          // the Kind of the task's snapshot.HumanRequest
	Timeout   time.Duration   // 0 means no timeout
	OnTimeout Otherwise
}

// Timer is a task that waits for a time.
type Timer struct {
	After time.Duration // from the start of the wait; 0 means that Until is set
	Until time.Time     // the zero time if After is set
}

// WaitState returns the state of the task's nodes while the task waits, or "" for a task that runs a command. A
// waiting attempt has the same state.
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

// Otherwise returns the effect of a denial or of a timeout of the task that waits. What has neither fails at worst.
func (t *Task) Otherwise() Otherwise {
	switch {
	case t.Approval != nil:
		return t.Approval.OnDeny
	case t.Human != nil && t.Human.Timeout > 0:
		return t.Human.OnTimeout
	case t.WaitFor != nil && t.WaitFor.Timeout > 0:
		return t.WaitFor.OnTimeout
	}
	return OtherwiseFail
}

// Templates returns the texts with placeholders that the task shows or uses while it waits. where has the key of each
// text in the file, such as "approval.title". A task with a command or a timer has no such texts.
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

// Title returns the title of the task for people: the task's label, or the task's id without a label.
func (t *Task) Title() string {
	if t.Label != "" {
		return t.Label
	}
	return t.ID
}
