package summary

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Asked is what a wait asks for, beyond mailbox.Waiting.
type Asked struct {
	SinceMs int64           // when the wait began, in milliseconds since 1970; 0 if it is unknown
	Summary string          // more about an approval; else ""
	Kind    string          // of a human request: see snapshot.HumanRequest; else ""
	Form    json.RawMessage // the JSON schema of the answer to a human request; nil if there is none
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
		asked = Asked{SinceMs: row.RequestedAtMs, Summary: row.Summary}
	case "human":
		row, ok, err := mailbox.ReadRow(state.HumanRequests(), key, snapshot.DecodeHumanRequest)
		if err != nil || !ok {
			return asked, timeline.Explain(err)
		}
		asked = Asked{SinceMs: row.RequestedAtMs, Kind: row.Kind, Form: row.Form}
	default:
		row, ok, err := mailbox.ReadWait(state, w.NodeID, w.Iteration)
		if err != nil || !ok {
			return asked, timeline.Explain(err)
		}
		asked = Asked{SinceMs: row.StartedAtMs}
	}
	return asked, nil
}
