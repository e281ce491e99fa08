package diff

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Result lists the differences between two snapshots. No list is null in JSON. Outputs are sorted by table, rows
// by node id and then by iteration, signals by seq. A node, or a row of its mailbox, is named by the node's key,
// "nodeId::iteration". Values share the stored bytes and must not be changed. To keep them as they are, encode a
// Result without HTML escaping.
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
	Input        *InputChange `json:"input,omitempty"` // set if it changed

	VCSPointerChanged bool           `json:"vcsPointerChanged"`
	VCSPointer        *PointerChange `json:"vcsPointer,omitempty"` // set if it changed
}

// NodeChange is a node whose row differs. A change of only its output does not count.
type NodeChange struct {
	Key  string        `json:"nodeId"` // the node's key; Smithers calls it nodeId
	From snapshot.Node `json:"from"`
	To   snapshot.Node `json:"to"`
}

// Output is an output row that exists on only one side, with its value.
type Output struct {
	Table     string          `json:"table"`
	NodeID    string          `json:"nodeId"`
	Iteration int             `json:"iteration"`
	Value     json.RawMessage `json:"-"`
}

// OutputChange is an output row whose value differs in any byte.
type OutputChange struct {
	Table     string          `json:"table"`
	NodeID    string          `json:"nodeId"`
	Iteration int             `json:"iteration"`
	From      json.RawMessage `json:"from"`
	To        json.RawMessage `json:"to"`
}

// LoopChange is a loop whose iteration or end differs.
type LoopChange struct {
	RalphID string        `json:"ralphId"`
	From    snapshot.Loop `json:"from"`
	To      snapshot.Loop `json:"to"`
}

// Mail is a row of the mailbox that exists on only one side. Its JSON is its key.
type Mail[T any] struct {
	Key string
	Row T
}

// MarshalText returns the key.
func (m Mail[T]) MarshalText() ([]byte, error) { return []byte(m.Key), nil }

// MailChange is a row of the mailbox that differs.
type MailChange[T any] struct {
	Key  string `json:"nodeId"` // as in NodeChange
	From T      `json:"from"`
	To   T      `json:"to"`
}

// Signal is a signal that only one side has, or has with this seq.
type Signal struct {
	Seq           int64           `json:"seq"`
	Name          string          `json:"name"`
	CorrelationID *string         `json:"correlationId"`
	Payload       json.RawMessage `json:"-"`
}

// InputChange has the run's input on both sides; nil if a side has none.
type InputChange struct {
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// PointerChange has the vcs pointers of both sides; "" if a side has none.
type PointerChange struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// newResult returns the result of comparing equal snapshots.
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
