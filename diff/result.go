package diff

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Result lists the differences between two snapshots. Nodes and their approvals, human requests and waits are named by
// the node's key, "nodeId::iteration". Outputs are sorted by table and then like rows; rows by node id and then by
// iteration; signals by seq.
//
// No list is null in JSON. Values share the stored bytes and must not be changed. An encoder without HTML escaping
// keeps values unchanged.
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
	Input        *InputChange `json:"input,omitempty"` // nil if the input did not change

	VCSPointerChanged bool           `json:"vcsPointerChanged"`
	VCSPointer        *PointerChange `json:"vcsPointer,omitempty"` // nil if the pointer did not change
}

// NodeChange is a node that both sides have with different rows. A different output alone is not a NodeChange.
type NodeChange struct {
	Key  string        `json:"nodeId"` // the node's key; Smithers calls it nodeId
	From snapshot.Node `json:"from"`
	To   snapshot.Node `json:"to"`
}

// Output is an output row that only one side has.
type Output struct {
	Table     string          `json:"table"`
	NodeID    string          `json:"nodeId"`
	Iteration int             `json:"iteration"`
	Value     json.RawMessage `json:"-"`
}

// OutputChange is an output row that both sides have with different values. Any different byte counts.
type OutputChange struct {
	Table     string          `json:"table"`
	NodeID    string          `json:"nodeId"`
	Iteration int             `json:"iteration"`
	From      json.RawMessage `json:"from"`
	To        json.RawMessage `json:"to"`
}

// LoopChange is a loop that both sides have with a different iteration or a different done flag.
type LoopChange struct {
	RalphID string        `json:"ralphId"`
	From    snapshot.Loop `json:"from"`
	To      snapshot.Loop `json:"to"`
}

// Mail is an approval, a human request or a wait that only one side has. Its JSON is the key alone.
type Mail[T any] struct {
	Key string
	Row T
}

// MarshalText returns the key. It never returns an error.
func (m Mail[T]) MarshalText() ([]byte, error) { return []byte(m.Key), nil }

// MailChange is an approval, a human request or a wait that both sides have with different rows.
type MailChange[T any] struct {
	Key  string `json:"nodeId"` // the node's key; Smithers calls it nodeId
	From T      `json:"from"`
	To   T      `json:"to"`
}

// Signal is a signal that only one side has with this seq.
type Signal struct {
	Seq           int64           `json:"seq"`
	Name          string          `json:"name"`
	CorrelationID *string         `json:"correlationId"`
	Payload       json.RawMessage `json:"-"`
}

// InputChange has the run's input on both sides. A side without input is nil.
type InputChange struct {
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// PointerChange has the vcs pointers of both sides. A side without a vcs pointer is "".
type PointerChange struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// newResult returns a Result without differences, in which no list is nil.
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

// Empty reports whether the snapshots have no differences.
func (r *Result) Empty() bool {
	return len(r.NodesAdded)+len(r.NodesRemoved)+len(r.NodesChanged)+
		len(r.OutputsAdded)+len(r.OutputsRemoved)+len(r.OutputsChanged)+
		len(r.LoopsAdded)+len(r.LoopsRemoved)+len(r.LoopsChanged) == 0 &&
		!r.InputChanged && !r.VCSPointerChanged && r.sameMailbox()
}

// sameMailbox reports whether the snapshots have the same approvals, human requests, waits and signals.
func (r *Result) sameMailbox() bool {
	return len(r.ApprovalsAdded)+len(r.ApprovalsRemoved)+len(r.ApprovalsChanged)+
		len(r.HumanRequestsAdded)+len(r.HumanRequestsRemoved)+len(r.HumanRequestsChanged)+
		len(r.WaitsAdded)+len(r.WaitsRemoved)+len(r.WaitsChanged)+
		len(r.SignalsAdded)+len(r.SignalsRemoved) == 0
}
