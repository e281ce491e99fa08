package summary

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Asked is what a wait asks for, beyond mailbox.Waiting.
type Asked struct {
	SinceMs *int64          `json:"sinceMs"` // when the wait began; nil if it is unknown
	Summary *string         `json:"summary"` // more about an approval; else nil
	Kind    string          `json:"-"`       // of a human request: see snapshot.HumanRequest; else ""
	Form    json.RawMessage `json:"-"`       // the JSON schema of the answer to a human request; nil if there is none
}

// An Ask is something that a run waits for, what it asks for, and how to answer.
type Ask struct {
	mailbox.Waiting
	Asked

	Fields   []Field  `json:"fields"`   // of the answer, in words
	Commands []string `json:"commands"` // that answer the wait; empty if only time ends it
}

// A Field is one value of the answer to a request, in words.
type Field struct {
	Name string `json:"name"` // "" if the answer is one value
	Says string `json:"says"` // which values fit
	Need string `json:"need"` // "required", what is taken if the value is left out, or ""
}

// readAsks sets Asks, with the waits for people first.
func (sum *Summary) readAsks() error {
	for _, people := range []bool{true, false} {
		for _, w := range sum.Waits {
			if (w.For == "approval" || w.For == "human") != people {
				continue
			}
			asked, err := sum.Asked(w)
			if err != nil {
				return err
			}
			sum.Asks = append(sum.Asks, Ask{Waiting: w, Asked: asked, Fields: []Field{}, Commands: []string{}})
		}
	}
	return nil
}

// Asked returns what a wait of the run asks for.
func (sum *Summary) Asked(w mailbox.Waiting) (asked Asked, err error) {
	state, err := sum.Entry.State()
	if err != nil {
		return asked, timeline.Explain(err)
	}
	key := snapshot.Key(w.NodeID, w.Iteration)
	switch w.For {
	case "approval":
		row, ok, err := mailbox.ReadRow(state.Approvals(), key, snapshot.DecodeApproval)
		if err != nil || !ok {
			return asked, timeline.Explain(err)
		}
		asked = Asked{SinceMs: moment(row.RequestedAtMs), Summary: orNull(row.Summary)}
	case "human":
		row, ok, err := mailbox.ReadRow(state.HumanRequests(), key, snapshot.DecodeHumanRequest)
		if err != nil || !ok {
			return asked, timeline.Explain(err)
		}
		asked = Asked{SinceMs: moment(row.RequestedAtMs), Kind: row.Kind, Form: row.Form}
	default:
		row, ok, err := mailbox.ReadWait(state, w.NodeID, w.Iteration)
		if err != nil || !ok {
			return asked, timeline.Explain(err)
		}
		asked = Asked{SinceMs: moment(row.StartedAtMs)}
	}
	return asked, nil
}

// moment returns a pointer to a time, or nil for 0.
func moment(ms int64) *int64 {
	if ms == 0 {
		return nil
	}
	return &ms
}

// orNull returns a pointer to text, or nil for "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
