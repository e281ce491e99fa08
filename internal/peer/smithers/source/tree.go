package source

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"
)

// node is a JSON value with the semantics of JavaScript: strings of UTF-16, which may have unpaired
// surrogates, numbers of type double, and objects with ordered members.
type node struct {
	kind    nodeKind
	text    string           // a string, encoded by appendRune; a number, as JavaScript writes it; true or false
	items   []*node          // of an array
	members map[string]*node // of an object
	names   []string         // of the members, in insertion order
}

// nodeKind is the type of a JSON value.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode          // its text is true or false
	numberNode
	stringNode
	arrayNode
	objectNode
)

// member returns the member of n with the given name, or nil if n is nil, is not an object, or has no such
// member.
func (n *node) member(name string) *node {
	if n == nil || n.kind != objectNode {
		return nil
	}
	return n.members[name]
}

// set sets a member of the object n. name is the name of the member, and value is its new value. A new member
// comes last. An existing member keeps its position.
func (n *node) set(name string, value *node) {
	if _, ok := n.members[name]; !ok {
		n.names = append(n.names, name)
	}
	n.members[name] = value
}

// remove removes the member with the given name from the object n. If n has no such member, remove does nothing.
func (n *node) remove(name string) {
	delete(n.members, name)
	n.names = slices.DeleteFunc(n.names, func(other string) bool { return other == name })
}

// ordered returns the names of n's members in JavaScript's order: array indexes by number, then the other
// names in insertion order. The caller must not change the result.
func (n *node) ordered() []string {
	indexed := slices.ContainsFunc(n.names, func(name string) bool { _, ok := arrayIndex(name); return ok })
	if !indexed {
		return n.names
	}
	names := slices.Clone(n.names)
	slices.SortStableFunc(names, func(a, b string) int {
		x, xOK := arrayIndex(a)
		y, yOK := arrayIndex(b)
		switch {
		case xOK && yOK:
			return cmp.Compare(x, y)
		case xOK:
			return -1
		case yOK:
			return 1
		}
		return 0
	})
	return names
}

// arrayIndex returns the number in name, and reports whether JavaScript treats name as an array index. An array
// index is an integer from 0 to 2^32 - 2 without leading zeros.
func arrayIndex(name string) (uint32, bool) {
	if name == "" || name[0] < '0' || name[0] > '9' || len(name) > 1 && name[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(name, 10, 32)
	return uint32(n), err == nil && n < 1<<32-1
}

// isTrue reports whether JavaScript treats n as true in a condition: n is not null, false, 0 or an empty string.
func (n *node) isTrue() bool {
	switch n.kind {
	case nullNode:
		return false
	case boolNode:
		return n.text == "true"
	case numberNode:
		return n.text != "0"
	case stringNode:
		return n.text != ""
	default:
		return true
	}
}

// canonical returns root in the form in which Smithers writes and hashes a rendered tree. In this form, each
// element has only the known members, in a fixed order, and its properties are sorted. If JavaScript treats root
// as false, the result is null. If a value is not a valid element, the error wraps ErrDamaged.
func canonical(root *node) (*node, error) {
	if !root.isTrue() {
		return &node{kind: nullNode}, nil
	}
	return canonicalElement(root, 0)
}

// canonicalElement returns the canonical form of an element and its children. from is the element. A text has only
// the members kind and text. Any other element has kind, tag, props and children. depth is the number of JSON
// arrays and objects around the element. If depth is greater than deepest, the error is errTooDeep.
func canonicalElement(from *node, depth int) (*node, error) {
	if from.kind != objectNode {
		return nil, damaged("a tree has a value that is not an element")
	}
	if depth > deepest {
		return nil, errTooDeep
	}
	to := &node{kind: objectNode, members: make(map[string]*node, 4), names: make([]string, 0, 4)}
	if kind := from.member("kind"); kind != nil && kind.kind == stringNode && kind.text == "text" {
		to.set("kind", kind)
		if text := from.member("text"); text != nil {
			to.set("text", text)
		}
		return to, nil
	}
	to.set("kind", &node{kind: stringNode, text: "element"})
	if tag := from.member("tag"); tag != nil {
		to.set("tag", tag)
	}
	props, err := sortedProps(from.member("props"))
	if err != nil {
		return nil, err
	}
	to.set("props", props)
	children := from.member("children")
	if children == nil || children.kind != arrayNode {
		return nil, damaged("an element has no list of children")
	}
	items := make([]*node, len(children.items))
	for i, child := range children.items {
		// A child is inside both its parent's object and the array of children.
		if items[i], err = canonicalElement(child, depth+2); err != nil {
			return nil, err
		}
	}
	to.set("children", &node{kind: arrayNode, items: items})
	return to, nil
}

// sortedProps returns the properties of an element, sorted by name. If props is nil or null, the result is an
// empty object. If props is any other value than an object, the error wraps ErrDamaged.
func sortedProps(props *node) (*node, error) {
	switch {
	case props == nil || props.kind == nullNode:
		return &node{kind: objectNode}, nil
	case props.kind != objectNode:
		return nil, damaged("an element's properties are not an object")
	}
	sorted := *props
	sorted.names = slices.Clone(props.names)
	slices.SortFunc(sorted.names, compareUTF16)
	return &sorted, nil
}

// compareUTF16 compares two strings by their UTF-16 code units, as JavaScript does.
func compareUTF16(a, b string) int { return slices.Compare(units(a), units(b)) }

// units returns the UTF-16 code units of s, a string in appendRune's encoding.
func units(s string) []uint16 {
	list := make([]uint16, 0, len(s))
	for s != "" {
		r, n := decodeRune(s)
		s = s[n:]
		if utf16.RuneLen(r) == 2 {
			high, low := utf16.EncodeRune(r)
			list = append(list, uint16(high), uint16(low))
		} else {
			list = append(list, uint16(r))
		}
	}
	return list
}
