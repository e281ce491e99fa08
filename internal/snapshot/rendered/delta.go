package rendered

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"

	"github.com/git-smithers/git-smithers/objstore"
)

const (
	// deltaVersion is the version of the encoding of deltas that this package writes and reads.
	deltaVersion = 1
	// maxOps is the maximum number of ops in a delta.
	maxOps = 10000
)

// The ops of a delta between two rendered trees.
const (
	opSet    = "set"    // sets a text, a prop, or a whole node
	opInsert = "insert" // inserts a child before the child with the op's index
	opRemove = "remove" // removes a prop or a child
)

// The names in the path of an op.
const (
	stepChildren = "children"
	stepProps    = "props"
	stepText     = "text"
)

// deltaOp changes one text, prop or node in a rendered tree.
type deltaOp struct {
	op     string // opSet, opInsert or opRemove
	path   []step // from the root; empty for the root itself
	value  string // the new text or the new value of a prop
	node   *Tree  // the new node; nil for the null tree
	isNode bool   // the new value is node, not value
	nodeID string // the id of the changed element or its nearest ancestor with an id, for people; "" if there is no id
}

// step is one step of a path: a name or, if isIndex, an index among children.
type step struct {
	name    string
	index   int
	isIndex bool
}

// nameStep returns the step of a path that leads to the member with the given name.
func nameStep(name string) step { return step{name: name} }

// indexStep returns the step of a path that leads to the child with the given index.
func indexStep(index int) step { return step{index: index, isIndex: true} }

// hasValue reports whether the op has a value or a node. A removal has neither.
func (o deltaOp) hasValue() bool { return o.op != opRemove }

// encodeDelta returns the canonical JSON of a delta.
func encodeDelta(ops []deltaOp) []byte {
	b := strconv.AppendInt([]byte(`{"version":`), int64(deltaVersion), 10)
	b = append(b, `,"ops":[`...)
	for i, o := range ops {
		if i > 0 {
			b = append(b, ',')
		}
		b = o.append(b)
	}
	return append(b, ']', '}')
}

// append appends the canonical JSON of the op to b.
func (o deltaOp) append(b []byte) []byte {
	b = page.AppendString(append(b, `{"op":`...), o.op)
	b = append(b, `,"path":[`...)
	for i, s := range o.path {
		if i > 0 {
			b = append(b, ',')
		}
		if s.isIndex {
			b = strconv.AppendInt(b, int64(s.index), 10)
		} else {
			b = page.AppendString(b, s.name)
		}
	}
	b = append(b, ']')
	if o.hasValue() {
		b = append(b, `,"value":`...)
		if o.isNode {
			b = o.node.Append(b)
		} else {
			b = page.AppendString(b, o.value)
		}
	}
	if o.nodeID != "" {
		b = page.AppendString(append(b, `,"nodeId":`...), o.nodeID)
	}
	return append(b, '}')
}

// decodeDelta decodes data, the payload of a delta. id is the id of the delta's blob, for errors. data must be valid
// JSON within the limits. If the delta has a later version, the error wraps row.ErrNewerFormat. If encodeDelta would
// not have written data, the error wraps objstore.ErrCorrupt.
func decodeDelta(id objstore.ID, data []byte) ([]deltaOp, error) {
	m := row.Reader{Rest: data}
	m.Expect(`{"version":`)
	version := m.Int()
	if !m.Bad && version > deltaVersion {
		return nil, fmt.Errorf("%w: blob %v is a delta of version %d", row.ErrNewerFormat, id, version)
	}
	m.Expect(`,"ops":[`)
	var ops []deltaOp
	for !m.Bad && !m.Skip("]") {
		if len(ops) > 0 {
			m.Expect(",")
		}
		if len(ops) == maxOps {
			return nil, corrupt(id, "frame: the delta has more than %d ops", maxOps)
		}
		o, err := readOp(&m)
		if err != nil {
			return nil, corrupt(id, "frame: op %d: %v", len(ops), err)
		}
		ops = append(ops, o)
	}
	m.Close()
	if !m.Done("") || !bytes.Equal(encodeDelta(ops), data) {
		return nil, corrupt(id, "frame: delta: %v", row.ErrNotCanonical)
	}
	return ops, nil
}

// readOp reads one op of a delta from m. If the op is unknown, or m.Bad becomes true, readOp returns an error. It
// does not check whether the op is in its canonical form: decodeDelta compares the encoding of the whole delta.
func readOp(m *row.Reader) (o deltaOp, err error) {
	m.Expect(`{"op":`)
	o.op = m.Text()
	if o.op != opSet && o.op != opInsert && o.op != opRemove {
		return deltaOp{}, fmt.Errorf("unknown op %q", o.op)
	}
	m.Expect(`,"path":[`)
	for !m.Bad && !m.Skip("]") {
		if len(o.path) > 0 {
			m.Expect(",")
		}
		o.path = append(o.path, readStep(m))
	}
	if o.hasValue() {
		m.Expect(`,"value":`)
		if err := o.readValue(m); err != nil {
			return deltaOp{}, err
		}
	}
	if m.Skip(`,"nodeId":`) {
		o.nodeID = m.Text()
	}
	m.Close()
	if m.Bad {
		return deltaOp{}, row.ErrNotCanonical
	}
	return o, nil
}

// readStep reads one step of a path from m: a string is a name, and an integer is an index. For any other value, it
// sets m.Bad.
func readStep(m *row.Reader) step {
	if len(m.Rest) > 0 && m.Rest[0] == '"' {
		return nameStep(m.Text())
	}
	return indexStep(int(m.Int()))
}

// readValue reads the value of the op from m: a string into o.value, or a tree into o.node. For the value null, which
// is the null tree, o.node is nil. If Parse would reject the tree, readValue returns an error.
func (o *deltaOp) readValue(m *row.Reader) (err error) {
	if m.Bad || len(m.Rest) == 0 {
		return row.ErrNotCanonical
	}
	if m.Rest[0] == '"' {
		o.value = m.Text()
		return nil
	}
	o.isNode = true
	p := treeParser{b: m.Rest}
	if o.node, err = p.tree(); err != nil {
		return err
	}
	if o.node == nil {
		m.Expect("null")
		return nil
	}
	m.Rest = m.Rest[p.i:]
	return nil
}

// errMisplacedOp is the error about an op whose path or value does not fit the tree.
var errMisplacedOp = errors.New("op does not fit the tree")

// applyDelta applies ops to root in order and returns the resulting tree. It modifies root, and the result shares
// nodes with root and ops. If an op does not fit the tree, the error wraps errMisplacedOp.
func applyDelta(root *Tree, ops []deltaOp) (*Tree, error) {
	for i, o := range ops {
		if len(o.path) == 0 {
			if o.op != opSet || !o.isNode {
				return nil, fmt.Errorf("op %d: %w", i, errMisplacedOp)
			}
			root = o.node
			continue
		}
		if err := o.apply(root); err != nil {
			return nil, fmt.Errorf("op %d: %w", i, err)
		}
	}
	return root, nil
}

// apply applies the op to the tree n, which it modifies. The op must not replace n itself: applyDelta handles this
// case. If the op does not fit the tree, the error is errMisplacedOp.
func (o deltaOp) apply(n *Tree) error {
	path := o.path
	// Go down to the node that the op changes, or whose prop or child the op changes.
	for n != nil && len(path) > 2 && path[0] == nameStep(stepChildren) && path[1].isIndex {
		if path[1].index < 0 || path[1].index >= len(n.children) {
			return errMisplacedOp
		}
		n, path = n.children[path[1].index], path[2:]
	}
	switch {
	case n == nil:
	case n.isText:
		if len(path) == 1 && path[0] == nameStep(stepText) && o.op == opSet && !o.isNode {
			n.text = o.value
			return nil
		}
	case len(path) == 2 && path[0] == nameStep(stepProps) && !path[1].isIndex && !o.isNode:
		return o.applyProp(n, path[1].name)
	case len(path) == 2 && path[0] == nameStep(stepChildren) && path[1].isIndex:
		return o.applyChild(n, path[1].index)
	}
	return errMisplacedOp
}

// applyProp sets or removes the prop of n with the given name. If the op is an insertion, or removes a missing prop,
// the error is errMisplacedOp.
func (o deltaOp) applyProp(n *Tree, name string) error {
	i, found := n.findProp(name)
	switch {
	case o.op == opSet && found:
		n.props[i].value = o.value
	case o.op == opSet:
		n.props = slices.Insert(n.props, i, prop{name, o.value})
	case o.op == opRemove && found:
		n.props = slices.Delete(n.props, i, i+1)
	default:
		return errMisplacedOp
	}
	return nil
}

// applyChild applies the op to the child of n at index i: it sets or removes this child, or inserts a child before this
// child. An insertion may also be at the end. If the op does not fit the tree, the error is errMisplacedOp.
func (o deltaOp) applyChild(n *Tree, i int) error {
	if i < 0 || i > len(n.children) || i == len(n.children) && o.op != opInsert {
		return errMisplacedOp
	}
	if o.op == opRemove {
		n.children = slices.Delete(n.children, i, i+1)
		return nil
	}
	if o.node == nil {
		return errMisplacedOp
	}
	if o.op == opInsert {
		n.children = slices.Insert(n.children, i, o.node)
		return nil
	}
	n.children[i] = o.node
	return nil
}
