package source

import (
	"fmt"
	"slices"
	"strconv"
)

// The encodings of _smithers_frames.
const (
	KeyFrame      = "keyframe" // every encoding but DeltaFrame is read as a keyframe
	DeltaFrame    = "delta"
	noChangeDelta = `{"version":1,"ops":[]}`
)

// Inflate returns the rendered tree of a frame in canonical form. xml is the stored column xml_json, and before is
// the tree of the frame before, or "". A delta without a frame before it, of another version, or that does not fit is
// ErrDamaged. Memory and depth are proportional to the arguments; an argument of more than 16 MiB is ErrTooLarge.
func Inflate(before, xml, encoding string) (string, error) {
	if len(xml) > largestTree || len(before) > largestTree {
		return "", fmt.Errorf("%w: a rendered tree has more than %d bytes", ErrTooLarge, largestTree)
	}
	var tree *node
	var err error
	if encoding == DeltaFrame {
		if before == "" {
			return "", damaged("a frame's delta has no frame before it")
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
	if tree, err = canonical(tree); err != nil {
		return "", err
	}
	text, err := appendJSON(nil, tree, 0)
	return string(text), err
}

// applyDelta applies a delta to the tree before.
func applyDelta(before, xml string) (*node, error) {
	tree, err := parse(before)
	if err != nil {
		return nil, err
	}
	delta, err := parse(xml)
	if err != nil {
		return nil, err
	}
	if version := delta.member("version"); version == nil || version.kind != numberNode || version.text != "1" {
		return nil, damaged("a frame's delta has an unknown version")
	}
	ops := delta.member("ops")
	if ops == nil || ops.kind != arrayNode {
		return nil, damaged("a frame's delta has no operations")
	}
	for i, op := range ops.items {
		if tree, err = applyOp(tree, op); err != nil {
			return nil, fmt.Errorf("operation %d of a frame's delta: %w", i, err)
		}
	}
	return tree, nil
}

// applyOp applies one operation and returns the new root.
func applyOp(root, op *node) (*node, error) {
	path, value := op.member("path"), op.member("value")
	name := op.member("op")
	if name == nil || name.kind != stringNode || path == nil || path.kind != arrayNode {
		return nil, damaged("it is invalid")
	}
	if value == nil && name.text != "remove" {
		return nil, damaged("it has no value")
	}
	if len(path.items) == 0 {
		if name.text == "remove" {
			value = &node{kind: nullNode}
		}
		return value, nil
	}
	parent := root
	for _, step := range path.items[:len(path.items)-1] {
		if parent = parent.step(step); parent == nil {
			return nil, damaged("its path leads nowhere")
		}
	}
	if !parent.change(name.text, path.items[len(path.items)-1], value) {
		return nil, damaged("it does not fit the tree")
	}
	return root, nil
}

// step returns the value at a segment of a path, or nil.
func (n *node) step(segment *node) *node {
	if segment.kind == stringNode {
		return n.member(segment.text)
	}
	if i := segment.index(); n.kind == arrayNode && i >= 0 && i < len(n.items) {
		return n.items[i]
	}
	return nil
}

// index returns the array index that a segment of a path has, or -1.
func (n *node) index() int {
	i, err := strconv.Atoi(n.text)
	if n.kind != numberNode || err != nil {
		return -1
	}
	return i
}

// change applies an operation to n, and reports whether it could.
func (n *node) change(op string, at, value *node) bool {
	if n.kind == objectNode && at.kind == stringNode {
		switch {
		case op == "set":
			n.set(at.text, value)
		case op == "remove" && n.members[at.text] != nil:
			n.remove(at.text)
		default:
			return false
		}
		return true
	}
	i := at.index()
	if n.kind != arrayNode || i < 0 || i > len(n.items) || i == len(n.items) && op != "insert" {
		return false
	}
	switch op {
	case "set":
		n.items[i] = value
	case "insert":
		n.items = slices.Insert(n.items, i, value)
	case "remove":
		n.items = slices.Delete(n.items, i, i+1)
	default:
		return false
	}
	return true
}
