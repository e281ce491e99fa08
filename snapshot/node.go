package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// NodeState is the state of a node. Smithers' words.
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

// Waiting tells whether the node waits for what is in the mailbox. The attempt that
// waits has the same state.
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

func (s NodeState) ended() bool {
	return s == NodeFinished || s == NodeFailed || s == NodeSkipped || s == NodeCancelled
}

// Node is one task at one iteration.
type Node struct {
	NodeID      string    `json:"nodeId"`
	Iteration   int       `json:"iteration"`
	State       NodeState `json:"state"`
	LastAttempt *int      `json:"lastAttempt"` // nil before the first
	OutputTable string    `json:"outputTable"` // "" for none
	Label       *string   `json:"label"`
	Needs       []string  `json:"needs"`   // node ids; stored sorted, each once
	RalphID     *string   `json:"ralphId"` // the loop that the node is in; nil for none
}

// NewNode is a task outside of loops, without needs, output or attempts.
func NewNode(id string, state NodeState) Node {
	return Node{NodeID: id, State: state, Needs: []string{}}
}

// SetNode is the change that sets a node.
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

// keySeparator stands between the parts of a row's key.
const keySeparator = "::"

// Key is the key of a node's or an output's row: "nodeId::iteration".
func Key(nodeID string, iteration int) string {
	return nodeID + keySeparator + strconv.Itoa(iteration)
}

// SplitKey is the inverse of Key. It splits at the last "::", so a node id may
// contain one. Its error wraps ErrInvalid.
func SplitKey(key string) (nodeID string, iteration int, err error) {
	i := strings.LastIndex(key, keySeparator)
	if i <= 0 {
		return "", 0, invalid("key %q: not nodeId::iteration", key)
	}
	n, ok := parseOrdinal(key[i+len(keySeparator):])
	if !ok {
		return "", 0, invalid("key %q: not nodeId::iteration", key)
	}
	return key[:i], n, nil
}

// parseOrdinal reads a decimal number from 0 to maxInteger without leading zeros.
func parseOrdinal(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= maxInteger && strconv.Itoa(n) == s
}

// EncodeNode is the row of a node. It sorts a copy of Needs.
func EncodeNode(n Node) page.Row {
	return page.Row{Key: Key(n.NodeID, n.Iteration), Value: appendNode(nil, n)}
}

// DecodeNode reads the row of a node. Bytes that EncodeNode would not have written
// are objstore.ErrCorrupt.
func DecodeNode(row page.Row) (Node, error) {
	n, err := decodeNode(row)
	if err != nil {
		return Node{}, corrupt(objstore.ID{}, "node %q: %v", row.Key, err)
	}
	return n, nil
}

var errNotCanonical = errors.New("not in its one valid encoding")

func decodeNode(row page.Row) (n Node, err error) {
	if n.NodeID, n.Iteration, err = SplitKey(row.Key); err != nil {
		return Node{}, err
	}
	m := metadata{rest: row.Value}
	m.name("label")
	n.Label = nullable(&m, m.str)
	m.name("lastAttempt")
	n.LastAttempt = nullable(&m, func() int { return int(m.int()) })
	m.name("needs")
	n.Needs = m.strs()
	m.name("outputTable")
	if !m.null() {
		n.OutputTable = m.str()
	}
	m.name("ralphId")
	n.RalphID = nullable(&m, m.str)
	m.name("state")
	n.State = NodeState(m.str())
	m.close()
	var buf [512]byte
	if !m.done("") || !bytes.Equal(appendNode(buf[:0], n), row.Value) {
		return Node{}, errNotCanonical
	}
	if err := n.check(); err != nil {
		return Node{}, err
	}
	return n, nil
}

func appendNode(b []byte, n Node) []byte {
	b = append(b, '{')
	b = appendNullable(b, "label", n.Label, page.AppendString)
	b = appendNullable(b, "lastAttempt", n.LastAttempt, appendInt)
	b = append(appendName(b, "needs"), '[')
	needs := n.Needs
	if !isSortedSet(needs) {
		needs = slices.Compact(slices.Sorted(slices.Values(needs)))
	}
	for i, id := range needs {
		if i > 0 {
			b = append(b, ',')
		}
		b = page.AppendString(b, id)
	}
	b = append(b, ']')
	b = appendName(b, "outputTable")
	if n.OutputTable == "" {
		b = append(b, "null"...)
	} else {
		b = page.AppendString(b, n.OutputTable)
	}
	b = appendNullable(b, "ralphId", n.RalphID, page.AppendString)
	b = appendStringMember(b, "state", string(n.State))
	return append(b, '}')
}

func isSortedSet(s []string) bool {
	for i := 1; i < len(s); i++ {
		if s[i-1] >= s[i] {
			return false
		}
	}
	return true
}

// check says what of a node cannot be stored.
func (n Node) check() error {
	switch {
	case !n.State.known():
		return fmt.Errorf("state: unknown state %q, the states are %s", n.State, oneOf(NodeStates()))
	case n.LastAttempt != nil && (*n.LastAttempt < 0 || *n.LastAttempt > maxInteger):
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

// parseNode reads a node as engines write it: members in any order, those which
// are optional left out. With a key, nodeId and iteration may be left out but must not differ.
func parseNode(key string, value json.RawMessage) (Node, error) {
	var n Node
	place := rowPlace{key: key}
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "state":
			return field(value, &n.State)
		case "lastAttempt":
			return field(value, &n.LastAttempt)
		case "outputTable":
			return field(value, &n.OutputTable)
		case "label":
			return field(value, &n.Label)
		case "needs":
			return field(value, &n.Needs)
		case "ralphId":
			return field(value, &n.RalphID)
		}
		return place.member(name, value)
	})
	if err == nil {
		n.NodeID, n.Iteration, err = place.resolve()
	}
	if err == nil && n.State == "" {
		err = errors.New("state: missing")
	}
	if err == nil {
		err = n.check()
	}
	if err != nil {
		return Node{}, fmt.Errorf("node %q: %w", cmp.Or(key, n.NodeID), err)
	}
	return n, nil
}

// rowPlace gathers which node and iteration a row belongs to, from its key, from
// the members nodeId and iteration, or from both, which must then agree.
type rowPlace struct {
	key       string // "" when there is none
	nodeID    *string
	iteration *int
}

// member takes the members nodeId and iteration; any other is unknown.
func (p *rowPlace) member(name string, value json.RawMessage) error {
	switch name {
	case "nodeId":
		return field(value, &p.nodeID)
	case "iteration":
		return field(value, &p.iteration)
	}
	return errUnknownField
}

func (p *rowPlace) resolve() (string, int, error) {
	if p.key == "" {
		if p.nodeID == nil || *p.nodeID == "" {
			return "", 0, errors.New("nodeId: missing")
		}
		if p.iteration == nil {
			p.iteration = new(int)
		}
		if *p.iteration < 0 || *p.iteration > maxInteger {
			return "", 0, errors.New("iteration: out of range")
		}
		return *p.nodeID, *p.iteration, nil
	}
	nodeID, iteration, err := SplitKey(p.key)
	switch {
	case err != nil:
		return "", 0, err
	case p.nodeID != nil && *p.nodeID != nodeID:
		return "", 0, errors.New("nodeId: not that of the key")
	case p.iteration != nil && *p.iteration != iteration:
		return "", 0, errors.New("iteration: not that of the key")
	}
	return nodeID, iteration, nil
}
