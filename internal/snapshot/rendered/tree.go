// Package rendered stores rendered workflow trees: in canonical form, as deltas, and as the blobs of frames.
package rendered

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// Tree is one node of a rendered workflow tree: a text, or an element with a tag, props and children. The null
// tree is nil.
type Tree struct {
	isText   bool
	text     string // the text of a text node; "" for an element
	tag      string // the tag of an element; "" for a text
	props    []prop // sorted by the UTF-16 code units of the names
	children []*Tree
}

// prop is a named property of an element.
type prop struct{ name, value string }

// compareProps compares a and b by the UTF-16 code units of their names. This is the order of members in canonical
// JSON.
func compareProps(a, b prop) int { return jsontext.CompareUTF16(a.name, b.name) }

// findProp returns the index of the prop with the given name, and true. If n has no such prop, findProp returns the
// index at which the prop would be inserted, and false.
func (n *Tree) findProp(name string) (int, bool) {
	return slices.BinarySearchFunc(n.props, prop{name: name}, compareProps)
}

// id returns the value of the element's prop "id", or "" if the node has no such prop.
func (n *Tree) id() string {
	if i, ok := n.findProp("id"); ok {
		return n.props[i].value
	}
	return ""
}

// equal reports whether two trees, which may be nil, have the same canonical form.
func (n *Tree) equal(other *Tree) bool {
	if n == nil || other == nil {
		return n == other
	}
	return n.isText == other.isText && n.text == other.text && n.tag == other.tag &&
		slices.Equal(n.props, other.props) && slices.EqualFunc(n.children, other.children, (*Tree).equal)
}

// Append appends the canonical JSON of the tree to b. A nil tree is "null".
func (n *Tree) Append(b []byte) []byte {
	if n == nil {
		return append(b, "null"...)
	}
	if n.isText {
		return append(page.AppendString(append(b, `{"kind":"text","text":`...), n.text), '}')
	}
	b = page.AppendString(append(b, `{"kind":"element","tag":`...), n.tag)
	b = append(b, `,"props":{`...)
	for i, p := range n.props {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(page.AppendString(b, p.name), ':')
		b = page.AppendString(b, p.value)
	}
	b = append(b, `},"children":[`...)
	for i, c := range n.children {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.Append(b)
	}
	return append(b, ']', '}')
}

// Parse parses a rendered tree in any JSON spelling. For the null tree, it returns nil. An element may omit props and
// children. If another member is missing, or a member is unknown, repeated or of the wrong type, Parse returns an
// error. data must be valid JSON.
func Parse(data []byte) (*Tree, error) {
	p := treeParser{b: data}
	return p.tree()
}

// treeParser parses a rendered tree in one pass over b, which must be valid JSON. i is the offset of the next
// byte.
type treeParser struct {
	b []byte
	i int
}

// next skips white space and returns the first byte of the next token, or 0 at the end of the input. The token itself
// stays unread.
func (p *treeParser) next() byte {
	p.i = jsontext.SkipSpace(p.b, p.i)
	if p.i >= len(p.b) {
		return 0
	}
	return p.b[p.i]
}

// tree parses an element, a text or null. For null, it returns nil and leaves null unread.
func (p *treeParser) tree() (*Tree, error) {
	if p.next() == 'n' { // in valid JSON, only null begins with n
		return nil, nil
	}
	return p.node()
}

// errNotNode is the error about a JSON value that is not a node of a rendered tree.
var errNotNode = errors.New(`expected {"kind":"element","tag":…,"props":{…},"children":[…]} or {"kind":"text","text":…}`)

// The members of a node, as bits.
const (
	hasKind = 1 << iota
	hasTag
	hasText
	hasProps
	hasChildren
)

// node parses an element or a text. For any other value, it returns an error. It also returns an error if a member is
// unknown or repeated, or if a required member is missing.
func (p *treeParser) node() (*Tree, error) {
	n := new(Tree)
	var kind string
	// seen has one bit for each member that was read, such as hasKind.
	seen := 0
	err := p.members(func(name string) (err error) {
		member := 0
		switch name {
		case "kind":
			member = hasKind
			kind, err = p.str()
		case "tag":
			member = hasTag
			n.tag, err = p.str()
		case "text":
			member = hasText
			n.text, err = p.str()
		case "props":
			member = hasProps
			err = p.readProps(n)
		case "children":
			member = hasChildren
			err = p.readChildren(n)
		default:
			err = fmt.Errorf("%s: %w", name, row.ErrUnknownField)
		}
		if err == nil && seen&member != 0 { // a repeated member
			err = errNotNode
		}
		seen |= member
		return err
	})
	if err != nil {
		return nil, err
	}
	n.isText = kind == "text"
	switch {
	case n.isText && seen == hasKind|hasText:
		return n, nil
	case kind == "element" && seen&hasTag != 0 && seen&hasText == 0:
		return n, nil
	}
	return nil, errNotNode
}

// members reads an object and calls read for each member, after the colon. read must read the member's value. members
// ends with the first error of read. If the value is not an object, the error is errNotNode. The input must be valid
// JSON.
func (p *treeParser) members(read func(name string) error) error {
	if p.next() != '{' {
		return errNotNode
	}
	p.i++
	for p.next() != '}' {
		if p.b[p.i] == ',' {
			p.i++
		}
		name, err := p.str()
		if err != nil {
			return err
		}
		p.next()
		p.i++ // the colon
		if err := read(name); err != nil {
			return err
		}
	}
	p.i++
	return nil
}

// readProps reads an object whose values are strings into the props of n, and sorts the props by name. If a prop is
// repeated, or a value is not a string, readProps returns an error.
func (p *treeParser) readProps(n *Tree) error {
	err := p.members(func(name string) error {
		value, err := p.str()
		if err != nil {
			return fmt.Errorf("props.%s: %w", name, err)
		}
		n.props = append(n.props, prop{name, value})
		return nil
	})
	if err != nil {
		return err
	}
	if !slices.IsSortedFunc(n.props, compareProps) {
		slices.SortFunc(n.props, compareProps)
	}
	for i := 1; i < len(n.props); i++ {
		if n.props[i-1].name == n.props[i].name {
			return fmt.Errorf("props.%s: given twice", n.props[i].name)
		}
	}
	return nil
}

// readChildren reads an array of nodes into the children of n. If the value is not an array, or an element is not a
// node, readChildren returns an error.
func (p *treeParser) readChildren(n *Tree) error {
	if p.next() != '[' {
		return errors.New("children: not an array")
	}
	p.i++
	for p.next() != ']' {
		if p.b[p.i] == ',' {
			p.i++
		}
		child, err := p.node()
		if err != nil {
			return err
		}
		n.children = append(n.children, child)
	}
	p.i++
	return nil
}

// str reads a string and returns its text. If the next value is not a string, str returns an error.
func (p *treeParser) str() (string, error) {
	if p.next() != '"' {
		return "", errors.New("not a string")
	}
	start := p.i
	end := jsontext.StringEnd(p.b, start)
	if end < 0 {
		return "", errors.New("not a string")
	}
	p.i = end
	inside := p.b[start+1 : p.i-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return string(inside), nil
	}
	var s string
	err := json.Unmarshal(p.b[start:p.i], &s)
	return s, err
}
