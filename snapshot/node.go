package snapshot

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
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

// Waiting reports whether the node waits for something in the mailbox. Its waiting attempt has the same state.
func (s NodeState) Waiting() bool {
	switch s {
	case NodeWaitingApproval, NodeWaitingHuman, NodeWaitingEvent, NodeWaitingTimer:
		return true
	case NodePending, NodeInProgress, NodeFinished, NodeFailed, NodeSkipped, NodeCancelled:
	}
	return false
}

// NodeStates lists all states of a node. The caller owns it.
func NodeStates() []NodeState {
	return []NodeState{
		NodePending, NodeInProgress, NodeFinished, NodeFailed, NodeSkipped, NodeCancelled,
		NodeWaitingApproval, NodeWaitingHuman, NodeWaitingEvent, NodeWaitingTimer,
	}
}

func (s NodeState) known() bool {
	return s.Waiting() || s == NodePending || s == NodeInProgress || s.ended()
}

// ended reports whether the node has finished, has failed, was skipped or was cancelled.
func (s NodeState) ended() bool {
	return s == NodeFinished || s == NodeFailed || s == NodeSkipped || s == NodeCancelled
}

// Node is one task at one iteration.
type Node struct {
	NodeID      string    `json:"nodeId"`
	Iteration   int       `json:"iteration"`
	State       NodeState `json:"state"`
	LastAttempt *int      `json:"lastAttempt"` // nil before the first attempt
	OutputTable string    `json:"outputTable"` // "" if there is none
	Label       *string   `json:"label"`
	Needs       []string  `json:"needs"`   // node ids; stored sorted, each once
	RalphID     *string   `json:"ralphId"` // the node's loop; nil if there is none
}

// NewNode returns a task without a loop, needs, output or attempts.
func NewNode(id string, state NodeState) Node {
	return Node{NodeID: id, State: state, Needs: []string{}}
}

// SetNode returns the change that sets a node.
func SetNode(n Node) Change {
	row := EncodeNode(n)
	return Change{Op: OpSet, Collection: CollectionNodes, Key: row.Key, Value: row.Value}
}

// oneOf lists words for a message.
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

// EncodeNode returns the row of a node. It sorts a copy of Needs.
func EncodeNode(n Node) page.Row { return nodeKind.Encode(n) }

// DecodeNode decodes the row of a node. If EncodeNode would not have written the row, the
// error wraps objstore.ErrCorrupt.
func DecodeNode(r page.Row) (Node, error) { return nodeKind.Decode(r) }

// check returns why a node cannot be stored.
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
