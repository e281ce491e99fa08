package source

import (
	"fmt"
	"slices"
	"strconv"
)

// The encodings of the column xml_json in _smithers_frames.
const (
	KeyFrame      = "keyframe" // every encoding except DeltaFrame is read as a keyframe
	DeltaFrame    = "delta"
	noChangeDelta = `{"version":1,"ops":[]}`
)

// The operations of a delta, as JSON.
const (
	setOp    = `"set"`
	insertOp = `"insert"`
	removeOp = `"remove"`
)

// Inflate returns the rendered tree of a frame in canonical form. xml is the frame's column xml_json. If encoding
// is DeltaFrame, xml is a delta: a list of changes to before, the tree of the previous frame. before is "" if
// there is no previous frame. With any other encoding, xml is the tree.
//
// If a text is invalid JSON or not a tree, the error wraps ErrDamaged. The same applies if a delta has no previous
// frame, has another version, or does not fit before. If xml or before has more than 16 MiB, the error wraps
// ErrTooLarge.
func Inflate(before, xml, encoding string) (string, error) {
	if len(xml) > largestTree || len(before) > largestTree {
		return "", fmt.Errorf("%w: a rendered tree has more than %d MiB", ErrTooLarge, largestTree>>20)
	}
	var tree *node
	var err error
	if encoding == DeltaFrame {
		if before == "" {
			return "", damaged("a frame's delta has no previous frame")
		}
		if xml == noChangeDelta {
			return before, nil
		}
		tree, err = applyDelta(before, xml)
	} else {
		tree, err = parse(xml)
	}
	if err != nil {
		return "", err
	}
	text, err := appendCanonical(nil, tree)
	return string(text), err
}

// applyDelta parses the tree before and the delta xml, both JSON, and returns the tree with the delta's
// operations applied. If a text is not valid or an operation does not fit the tree, the error wraps ErrDamaged.
func applyDelta(before, xml string) (*node, error) {
	tree, err := parse(before)
	if err != nil {
		return nil, err
	}
	delta, err := parse(xml)
	if err != nil {
		return nil, err
	}
	if version := delta.member("version"); version == nil || version.text != "1" {
		return nil, damaged("a frame's delta has an unknown version")
	}
	ops := delta.member("ops")
	if !ops.is('[') {
		return nil, damaged("a frame's delta has no operations")
	}
	for i, op := range ops.items {
		if tree, err = applyOp(tree, op); err != nil {
			return nil, fmt.Errorf("operation %d of a frame's delta: %w", i, err)
		}
	}
	return tree, nil
}

// applyOp applies op, one operation of a delta, to the tree root and returns the new root. It may change the nodes
// of root. If the path of op is empty, the operation replaces or removes the whole tree. If op is invalid or does
// not fit the tree, the error wraps ErrDamaged.
func applyOp(root, op *node) (*node, error) {
	path, value := op.member("path"), op.member("value")
	name := op.member("op")
	if !name.is('"') || !path.is('[') {
		return nil, damaged("the operation is invalid")
	}
	if value == nil && name.text != removeOp {
		return nil, damaged("the operation has no value")
	}
	if len(path.items) == 0 {
		if name.text == removeOp {
			value = &node{text: "null"}
		}
		return value, nil
	}
	parent := root
	for _, step := range path.items[:len(path.items)-1] {
		if parent = parent.step(step); parent == nil {
			return nil, damaged("the path of the operation is not in the tree")
		}
	}
	if !parent.change(name.text, path.items[len(path.items)-1], value) {
		return nil, damaged("the operation does not fit the tree")
	}
	return root, nil
}

// step follows one segment of a path from n. The segment is the name of a member if n is an object, or the index
// of an item if n is an array. step returns the member or the item, or nil if n has no such value.
func (n *node) step(segment *node) *node {
	if segment.is('"') {
		return n.members[segment.text]
	}
	if i := segment.index(); n.is('[') && i >= 0 && i < len(n.items) {
		return n.items[i]
	}
	return nil
}

// index returns the number of n, a segment of a path, as an array index. It returns -1 if n is not an integer number.
func (n *node) index() int {
	i, err := strconv.Atoi(n.text)
	if err != nil {
		return -1
	}
	return i
}

// change applies an operation to n, an object or an array. op is the operation: setOp, removeOp or, for an
// array, insertOp. at has the name of a member or the index of an item. value is the new value; "remove" ignores it.
//
// change returns false and changes nothing in three cases: op is unknown, at is not a name for an object or not an
// index for an array, or the addressed member or item does not exist. In an object, "set" also adds a new member. In an
// array, "insert" also adds an item at the end.
func (n *node) change(op string, at, value *node) bool {
	if n.is('{') && at.is('"') {
		switch {
		case op == setOp:
			n.set(at.text, value)
		case op == removeOp && n.members[at.text] != nil:
			n.remove(at.text)
		default:
			return false
		}
		return true
	}
	i := at.index()
	if !n.is('[') || i < 0 || i > len(n.items) || i == len(n.items) && op != insertOp {
		return false
	}
	switch op {
	case setOp:
		n.items[i] = value
	case insertOp:
		n.items = slices.Insert(n.items, i, value)
	case removeOp:
		n.items = slices.Delete(n.items, i, i+1)
	default:
		return false
	}
	return true
}
