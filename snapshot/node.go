package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// NodeState is the state of a node, named as in Smithers.
type NodeState string

// The states of a node.
const (
	NodePending    NodeState = "pending"
	NodeInProgress NodeState = "in-progress"
	NodeFinished   NodeState = "finished"
	NodeFailed     NodeState = "failed"
	NodeSkipped    NodeState = "skipped"
	NodeCancelled  NodeState = "cancelled"

	NodeWaitingApproval NodeState = "waiting-approval"
	NodeWaitingHuman    NodeState = "waiting-human"
	NodeWaitingEvent    NodeState = "waiting-event"
	NodeWaitingTimer    NodeState = "waiting-timer"
)

// Waiting reports whether a node in this state waits for something in the mailbox. The node's waiting attempt
// has the same state.
func (s NodeState) Waiting() bool {
	switch s {
	case NodeWaitingApproval, NodeWaitingHuman, NodeWaitingEvent, NodeWaitingTimer:
		return true
	case NodePending, NodeInProgress, NodeFinished, NodeFailed, NodeSkipped, NodeCancelled:
	}
	return false
}

// NodeStates returns all states of a node. The caller may modify the slice.
func NodeStates() []NodeState {
	return []NodeState{
		NodePending, NodeInProgress, NodeFinished, NodeFailed, NodeSkipped, NodeCancelled,
		NodeWaitingApproval, NodeWaitingHuman, NodeWaitingEvent, NodeWaitingTimer,
	}
}

// known reports whether s is one of NodeStates.
func (s NodeState) known() bool {
	return s.Waiting() || s == NodePending || s == NodeInProgress || s.ended()
}

// ended reports whether a node in this state has finished, has failed, was skipped or was cancelled.
func (s NodeState) ended() bool {
	return s == NodeFinished || s == NodeFailed || s == NodeSkipped || s == NodeCancelled
}

// Node is one task at one iteration.
type Node struct {
	NodeID      string    `json:"nodeId"`
	Iteration   int       `json:"iteration"`
	State       NodeState `json:"state"`
	LastAttempt *int      `json:"lastAttempt"` // nil before the first attempt
	OutputTable string    `json:"outputTable"` // "" if the node has no output
	Label       *string   `json:"label"`       // nil if the node has no label
	Needs       []string  `json:"needs"`       // node ids; stored sorted, each once
	RalphID     *string   `json:"ralphId"`     // the node's loop; nil if the node is not in a loop
}

// NewNode returns the node with the id and the state, at iteration 0. It has no loop, needs, output table or
// attempts.
func NewNode(id string, state NodeState) Node {
	return Node{NodeID: id, State: state, Needs: []string{}}
}

// SetNode returns the change that sets the row of a node.
func SetNode(n Node) Change {
	row := EncodeNode(n)
	return Change{Op: OpSet, Collection: CollectionNodes, Key: row.Key, Value: row.Value}
}

// oneOf returns words as one text, separated by commas, for a message that lists the allowed values.
func oneOf[T ~string](words []T) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// nodeKind declares the rows of the collection "nodes".
var nodeKind = row.Kind[Node]{
	Name: "node",
	Key:  nodeKey(func(n *Node) (*string, *int) { return &n.NodeID, &n.Iteration }),
	Fields: []row.Field[Node]{
		row.NullText("label", func(n *Node) **string { return &n.Label }),
		row.NullInt("lastAttempt", func(n *Node) **int { return &n.LastAttempt }),
		row.Set("needs", func(n *Node) *[]string { return &n.Needs }),
		row.EmptyIsNull("outputTable", func(n *Node) *string { return &n.OutputTable }),
		row.NullText("ralphId", func(n *Node) **string { return &n.RalphID }),
		row.Text("state", func(n *Node) *string { return (*string)(&n.State) }),
	},
	Check: Node.check,
}

// EncodeNode returns the row of a node, without checking the node. The row has Needs sorted, each id once;
// n.Needs is not modified.
func EncodeNode(n Node) page.Row { return nodeKind.Encode(n) }

// DecodeNode decodes the row of a node. If EncodeNode would not have written the row, or the node is invalid,
// the error wraps objstore.ErrCorrupt.
func DecodeNode(r page.Row) (Node, error) { return nodeKind.Decode(r) }

// check returns an error if the node cannot be stored: if the state is missing or unknown, LastAttempt is out of range,
// or a text is empty or not UTF-8.
func (n Node) check() error {
	switch {
	case n.State == "":
		return errors.New("state: missing")
	case !n.State.known():
		return fmt.Errorf("state: unknown state %q, the states are %s", n.State, oneOf(NodeStates()))
	case n.LastAttempt != nil && (*n.LastAttempt < 0 || *n.LastAttempt > row.MaxInteger):
		return errors.New("lastAttempt: out of range")
	case n.Label != nil && !utf8.ValidString(*n.Label):
		return errors.New("label: not UTF-8")
	case n.RalphID != nil && (*n.RalphID == "" || !utf8.ValidString(*n.RalphID)):
		return errors.New("ralphId: empty or not UTF-8")
	}
	for _, id := range n.Needs {
		if id == "" || !utf8.ValidString(id) {
			return errors.New("needs: a node id is empty or not UTF-8")
		}
	}
	if n.OutputTable != "" {
		if err := checkTable(n.OutputTable); err != nil {
			return fmt.Errorf("outputTable: %w", err)
		}
	}
	return nil
}
