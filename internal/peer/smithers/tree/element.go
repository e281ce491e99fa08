// Package tree reads the rendered trees of Smithers' workflows: their tasks, and the tasks that each task needs.
package tree

import (
	"encoding/json"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
)

// Element is one element of a rendered tree. A text is an Element without a tag.
type Element struct {
	Tag      string            `json:"tag"`
	Props    map[string]string `json:"props"`
	Children []*Element        `json:"children"`
}

// Parse returns the root of the rendered tree in text. It returns nil if text is "" or not a tree.
func Parse(text string) *Element {
	var root *Element
	if json.Unmarshal([]byte(text), &root) != nil {
		return nil
	}
	return root
}

// ByID returns e and all elements below e that have an id, by their ids. e may be nil. If several elements have
// the same id, the result has the last of them.
func (e *Element) ByID() map[string]*Element {
	found := make(map[string]*Element)
	e.collect(found)
	return found
}

// collect adds e and the elements below e to the map into, by their ids. It skips elements without an id. e may
// be nil.
func (e *Element) collect(into map[string]*Element) {
	if e == nil {
		return
	}
	if id := e.Props["id"]; id != "" {
		into[id] = e
	}
	for _, child := range e.Children {
		child.collect(into)
	}
}

// Number returns the property with the name prop as a JSON number. It returns "null" if e has no such property or its
// value is not an integer.
func (e *Element) Number(prop string) string {
	if n, err := strconv.ParseInt(e.Props[prop], 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return "null"
}

// Text returns the property with the name prop as a JSON string, or "null" if the property is missing or empty.
func (e *Element) Text(prop string) string {
	if s := e.Props[prop]; s != "" {
		return jsonobject.Quote(s)
	}
	return "null"
}
