package diff

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Result is what differs from one snapshot to another. Lists are sorted, outputs by
// table first, rows by node id and then by iteration, signals by seq, and never null in
// JSON. Nodes, and what they wait for, are named by the node's key, "nodeId::iteration".
// Values are the stored bytes, shared: they must not be changed. Encode it with HTML
// escaping off to keep them as they are.
type Result struct {
	NodesAdded   []string     `json:"nodesAdded"`
	NodesRemoved []string     `json:"nodesRemoved"`
	NodesChanged []NodeChange `json:"nodesChanged"`

	OutputsAdded   []Output       `json:"outputsAdded"`
	OutputsRemoved []Output       `json:"outputsRemoved"`
	OutputsChanged []OutputChange `json:"outputsChanged"`

	LoopsAdded   []string     `json:"ralphAdded"`
	LoopsRemoved []string     `json:"ralphRemoved"`
	LoopsChanged []LoopChange `json:"ralphChanged"`

	ApprovalsAdded   []Mail[snapshot.Approval]       `json:"approvalsAdded"`
	ApprovalsRemoved []Mail[snapshot.Approval]       `json:"approvalsRemoved"`
	ApprovalsChanged []MailChange[snapshot.Approval] `json:"approvalsChanged"`

	HumanRequestsAdded   []Mail[snapshot.HumanRequest]       `json:"humanRequestsAdded"`
	HumanRequestsRemoved []Mail[snapshot.HumanRequest]       `json:"humanRequestsRemoved"`
	HumanRequestsChanged []MailChange[snapshot.HumanRequest] `json:"humanRequestsChanged"`

	WaitsAdded   []Mail[snapshot.Wait]       `json:"waitsAdded"`
	WaitsRemoved []Mail[snapshot.Wait]       `json:"waitsRemoved"`
	WaitsChanged []MailChange[snapshot.Wait] `json:"waitsChanged"`

	SignalsAdded   []Signal `json:"signalsAdded"`
	SignalsRemoved []Signal `json:"signalsRemoved"`

	InputChanged bool         `json:"inputChanged"`
	Input        *InputChange `json:"input,omitempty"` // set when it changed

	VCSPointerChanged bool           `json:"vcsPointerChanged"`
	VCSPointer        *PointerChange `json:"vcsPointer,omitempty"` // set when it changed
}

// NodeChange is a node of which anything in its row differs. A change of its output
// alone is none.
type NodeChange struct {
	Key  string        `json:"nodeId"` // Smithers' name for what is the key
	From snapshot.Node `json:"from"`
	To   snapshot.Node `json:"to"`
}

// Output is an output row that only one side has, with the value it has there.
type Output struct {
	Table     string          `json:"table"`
	NodeID    string          `json:"nodeId"`
	Iteration int             `json:"iteration"`
	Value     json.RawMessage `json:"-"`
}

// OutputChange is an output row of which the bytes of the value differ.
type OutputChange struct {
	Table     string          `json:"table"`
	NodeID    string          `json:"nodeId"`
	Iteration int             `json:"iteration"`
	From      json.RawMessage `json:"from"`
	To        json.RawMessage `json:"to"`
}

// LoopChange is a loop of which the iteration or done differs.
type LoopChange struct {
	RalphID string        `json:"ralphId"`
	From    snapshot.Loop `json:"from"`
	To      snapshot.Loop `json:"to"`
}

// Mail is a row of the mailbox that only one side has: in JSON its key.
type Mail[T any] struct {
	Key string
	Row T
}

// MarshalText is the key.
func (m Mail[T]) MarshalText() ([]byte, error) { return []byte(m.Key), nil }

// MailChange is a row of the mailbox of which anything differs.
type MailChange[T any] struct {
	Key  string `json:"nodeId"` // as in NodeChange
	From T      `json:"from"`
	To   T      `json:"to"`
}

// Signal is a signal that only one side has, or has by that number.
type Signal struct {
	Seq           int64           `json:"seq"`
	Name          string          `json:"name"`
	CorrelationID *string         `json:"correlationId"`
	Payload       json.RawMessage `json:"-"`
}

// InputChange has the run's input on both sides; nil where there is none.
type InputChange struct {
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// PointerChange has the vcs pointer of both sides; empty where there is none.
type PointerChange struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// newResult is the result of comparing equal snapshots.
func newResult() *Result {
	return &Result{
		NodesAdded: []string{}, NodesRemoved: []string{}, NodesChanged: []NodeChange{},
		OutputsAdded: []Output{}, OutputsRemoved: []Output{}, OutputsChanged: []OutputChange{},
		LoopsAdded: []string{}, LoopsRemoved: []string{}, LoopsChanged: []LoopChange{},
		ApprovalsAdded: []Mail[snapshot.Approval]{}, ApprovalsRemoved: []Mail[snapshot.Approval]{},
		ApprovalsChanged:   []MailChange[snapshot.Approval]{},
		HumanRequestsAdded: []Mail[snapshot.HumanRequest]{}, HumanRequestsRemoved: []Mail[snapshot.HumanRequest]{},
		HumanRequestsChanged: []MailChange[snapshot.HumanRequest]{},
		WaitsAdded:           []Mail[snapshot.Wait]{}, WaitsRemoved: []Mail[snapshot.Wait]{}, WaitsChanged: []MailChange[snapshot.Wait]{},
		SignalsAdded: []Signal{}, SignalsRemoved: []Signal{},
	}
}

// Empty reports whether nothing differs.
func (r *Result) Empty() bool {
	return len(r.NodesAdded)+len(r.NodesRemoved)+len(r.NodesChanged)+
		len(r.OutputsAdded)+len(r.OutputsRemoved)+len(r.OutputsChanged)+
		len(r.LoopsAdded)+len(r.LoopsRemoved)+len(r.LoopsChanged) == 0 &&
		!r.InputChanged && !r.VCSPointerChanged && r.sameMailbox()
}

func (r *Result) sameMailbox() bool {
	return len(r.ApprovalsAdded)+len(r.ApprovalsRemoved)+len(r.ApprovalsChanged)+
		len(r.HumanRequestsAdded)+len(r.HumanRequestsRemoved)+len(r.HumanRequestsChanged)+
		len(r.WaitsAdded)+len(r.WaitsRemoved)+len(r.WaitsChanged)+
		len(r.SignalsAdded)+len(r.SignalsRemoved) == 0
}
