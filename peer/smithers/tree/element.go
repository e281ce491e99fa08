// Package tree reads the rendered trees of Smithers' workflows: which tasks there are, and what each task needs.
package tree

import (
	"encoding/json"
	"strconv"

	"github.com/git-smithers/git-smithers/peer/smithers/jsonobject"
)

// Element is one element of a rendered tree. A text has no tag.
type Element struct {
	Tag      string            `json:"tag"`
	Props    map[string]string `json:"props"`
	Children []*Element        `json:"children"`
}

// Parse reads a rendered tree. It returns nil for "" and for a text that is not a tree.
func Parse(text string) *Element {
	var root *Element
	if json.Unmarshal([]byte(text), &root) != nil {
		return nil
	}
	return root
}

// ByID returns the elements with ids in and below an element, which may be nil.
func (e *Element) ByID() map[string]*Element {
	found := make(map[string]*Element)
	e.collect(found)
	return found
}

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

// Number returns an integer prop as JSON, or null if the prop is not an integer.
func (e *Element) Number(prop string) string {
	if n, err := strconv.ParseInt(e.Props[prop], 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return "null"
}

// Text returns a prop as JSON, or null if there is no such prop.
func (e *Element) Text(prop string) string {
	if s := e.Props[prop]; s != "" {
		return jsonobject.Quote(s)
	}
	return "null"
}
