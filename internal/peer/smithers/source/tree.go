package source

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

// The limits of a tree. A tree of 16 MiB has some hundred thousand tasks.
const (
	deepest     = 10_000   // the greatest depth of nested JSON values
	largestTree = 16 << 20 // the greatest size in bytes
)

var errTooDeep = damaged("JSON is nested deeper than %d", deepest)

// node is a JSON value with the spelling that it has in a text. JavaScript's JSON.stringify wrote the texts, so that equal
// values have equal spellings.
type node struct {
	text    string           // a string with its quotes, a number or a word; "{" of an object, "[" of an array
	items   []*node          // of an array
	members map[string]*node // of an object, by their names with quotes
	names   []string         // of the members, in insertion order
}

// parse returns the JSON value in text. If an object has several members with the same name, the last of these members
// counts. If text is not valid JSON or is nested deeper than deepest, the error wraps ErrDamaged.
func parse(text string) (*node, error) {
	d := &decoder{text: []byte(text)}
	if !utf8.Valid(d.text) {
		return nil, damaged("JSON is not UTF-8")
	}
	if jsontext.DeeperThan(d.text, deepest) {
		return nil, errTooDeep
	}
	end := jsontext.ValueEnd(d.text, jsontext.SkipSpace(d.text, 0))
	if end < 0 || jsontext.SkipSpace(d.text, end) < len(d.text) {
		return nil, damaged("JSON is malformed")
	}
	return d.value(), nil
}

// decoder decodes valid JSON. at is the offset of what is not decoded yet.
type decoder struct {
	text []byte
	at   int
}

// value decodes the next JSON value.
func (d *decoder) value() *node {
	d.at = jsontext.SkipSpace(d.text, d.at)
	start := d.at
	switch d.text[start] {
	case '{':
		object := &node{text: "{", members: make(map[string]*node)}
		for d.more('}') {
			name := d.value().text
			d.at = jsontext.SkipSpace(d.text, d.at) + len(":")
			object.set(name, d.value())
		}
		return object
	case '[':
		array := &node{text: "["}
		for d.more(']') {
			array.items = append(array.items, d.value())
		}
		return array
	}
	d.at = jsontext.ValueEnd(d.text, start)
	return &node{text: string(d.text[start:d.at])}
}

// more skips the bracket or the comma before the next element, and reports whether there is one. If not, it skips the closing bracket.
func (d *decoder) more(closing byte) bool {
	if d.at = jsontext.SkipSpace(d.text, d.at); d.text[d.at] != closing {
		d.at = jsontext.SkipSpace(d.text, d.at+1)
	}
	if d.text[d.at] == closing {
		d.at++
		return false
	}
	return true
}

// is reports whether n is a value that begins with kind: '{' for an object, '[' for an array, '"' for a string.
func (n *node) is(kind byte) bool { return n != nil && n.text[0] == kind }

// member returns the member of n with the given name, which needs no escapes. It returns nil if n is nil, is not an object,
// or has no such member.
func (n *node) member(name string) *node {
	if !n.is('{') {
		return nil
	}
	return n.members[`"`+name+`"`]
}

// set sets a member of the object n. name is the name of the member with its quotes, and value is its new value. A new
// member comes last. An existing member keeps its position.
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

// appendCanonical appends root to the slice to in the form in which Smithers writes and hashes a rendered tree. In this
// form, each element has only the known members, in a fixed order, and its properties are sorted. If JavaScript treats root
// as false, the result is null. If a value is not a valid element, the error wraps ErrDamaged.
func appendCanonical(to []byte, root *node) ([]byte, error) {
	if slices.Contains([]string{"null", "false", "0", `""`}, root.text) {
		return append(to, "null"...), nil
	}
	return appendElement(to, root, 0)
}

// appendElement appends the canonical form of an element and its children. A text has only the members kind and text. Any
// other element has kind, tag, props and children. depth is the number of JSON arrays and objects around the element. If
// depth is greater than deepest, the error is errTooDeep.
func appendElement(to []byte, n *node, depth int) (_ []byte, err error) {
	switch {
	case !n.is('{'):
		return nil, damaged("a tree has a value that is not an element")
	case depth > deepest:
		return nil, errTooDeep
	}
	if kind := n.member("kind"); kind != nil && kind.text == `"text"` {
		if to, err = appendMember(append(to, `{"kind":"text"`...), n, "text", depth); err != nil {
			return nil, err
		}
		return append(to, '}'), nil
	}
	if to, err = appendMember(append(to, `{"kind":"element"`...), n, "tag", depth); err != nil {
		return nil, err
	}
	if to, err = appendProps(append(to, `,"props":`...), n.member("props"), depth); err != nil {
		return nil, err
	}
	children := n.member("children")
	if !children.is('[') {
		return nil, damaged("an element has no list of children")
	}
	to = append(to, `,"children":[`...)
	for i, child := range children.items {
		if i > 0 {
			to = append(to, ',')
		}
		// A child is inside both its parent's object and the array of children.
		if to, err = appendElement(to, child, depth+2); err != nil {
			return nil, err
		}
	}
	return append(to, "]}"...), nil
}

// appendMember appends a comma and the member of n with the given name, if n has this member.
func appendMember(to []byte, n *node, name string, depth int) ([]byte, error) {
	value := n.member(name)
	if value == nil {
		return to, nil
	}
	return appendJSON(append(to, `,"`+name+`":`...), value, depth+1)
}

// appendProps appends the properties of an element, sorted by name. If props is nil or null, it appends an empty object. If
// props is any other value than an object, the error wraps ErrDamaged.
func appendProps(to []byte, props *node, depth int) ([]byte, error) {
	switch {
	case props == nil || props.text == "null":
		return append(to, "{}"...), nil
	case !props.is('{'):
		return nil, damaged("an element's properties are not an object")
	}
	sorted := *props
	sorted.names = slices.SortedFunc(slices.Values(props.names), compareNames)
	return appendJSON(to, &sorted, depth+1)
}

// compareNames compares the names of two properties, with their quotes, in JavaScript's order: array indexes by number, then
// the other names by their UTF-16 code units.
func compareNames(a, b string) int {
	x, xErr := strconv.ParseUint(a[1:len(a)-1], 10, 32)
	y, yErr := strconv.ParseUint(b[1:len(b)-1], 10, 32)
	switch {
	case xErr == nil && yErr == nil:
		return cmp.Compare(x, y)
	case xErr == nil:
		return -1
	case yErr == nil:
		return 1
	}
	return jsontext.CompareUTF16(jsontext.Unquote([]byte(a)), jsontext.Unquote([]byte(b)))
}

// appendJSON appends n, a JSON value, to the slice to, without white space. It returns the extended slice. depth is the
// number of arrays and objects around n. If n or a value inside n is deeper than deepest, the error is errTooDeep.
func appendJSON(to []byte, n *node, depth int) (_ []byte, err error) {
	if depth > deepest {
		return nil, errTooDeep
	}
	to = append(to, n.text...)
	for i, item := range n.items {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendJSON(to, item, depth+1); err != nil {
			return nil, err
		}
	}
	for i, name := range n.names {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendJSON(append(append(to, name...), ':'), n.members[name], depth+1); err != nil {
			return nil, err
		}
	}
	switch n.text {
	case "[":
		to = append(to, ']')
	case "{":
		to = append(to, '}')
	}
	return to, nil
}
