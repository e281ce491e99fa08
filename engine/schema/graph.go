package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// graph is a schema as a graph of its subschemas. Safe for concurrent use.
type graph struct {
	root     *node
	nodes    map[string]*node // by JSON pointer
	dangling []string         // references without a schema at their target
}

// node is one schema. Its edges lead to the schemas for the same value or for a part of it.
type node struct {
	at       string
	types    []any   // a value of another type is only checked by ref; empty: any type
	looks    float64 // steps to read its own values
	bytes    float64 // size of these values, which messages quote
	program  float64 // size of its patterns
	quotes   bool    // a message may quote the value
	unique   bool    // it compares all items with each other
	defaults []any   // its default

	ref  []*node // the target of its $ref, which is also in both
	same edges   // for the same value

	properties map[string]*node
	patterns   []patternNode
	more       []*node // for properties without a schema of their own
	names      []*node // for property names
	prefix     []*node // for the first items, one each
	items      []*node // for every item
	contains   []*node // for every item, until one matches
}

// edges are schemas for one value.
type edges struct {
	both   []*node // a failure fails the whole
	any    []*node // the whole fails if all fail
	trials []*node // a failure does not end the validation
}

// patternNode is a schema for the properties whose names match a pattern.
type patternNode struct {
	name *regexp.Regexp
	*node
}

// note records the value of a keyword that holds no schemas.
func (n *node) note(key string, value any) {
	switch key {
	case "default":
		n.defaults = []any{value}
	case "enum", "const":
		n.quotes = true
		n.own(value, stepsPerEqual)
	case "required", "dependentRequired", "dependencies":
		n.own(value, 1)
	case "minLength", "maxLength", "pattern":
		n.quotes = true
	case "uniqueItems":
		n.unique = true
	}
}

// own records a value that a validation reads, and the steps for each value in it.
func (n *node) own(value any, steps float64) {
	size := sizeOf(value)
	n.looks += steps * size.values
	n.bytes += size.bytes
}

// link adds the edge of a keyword. name is the property or pattern.
func (n *node) link(key, name string, to *node) {
	n.looks++
	switch key {
	case "allOf", "then", "else", "dependentSchemas", "dependencies":
		n.same.both = append(n.same.both, to)
	case "anyOf":
		n.same.any = append(n.same.any, to)
	case "oneOf", "not", "if":
		n.same.trials = append(n.same.trials, to)
	case "properties":
		if n.properties == nil {
			n.properties = make(map[string]*node)
		}
		n.properties[name] = to
	case "patternProperties":
		if re, err := regexp.Compile(name); err == nil { // the schema library reports an invalid pattern
			n.patterns = append(n.patterns, patternNode{re, to})
		}
	case "additionalProperties", "unevaluatedProperties":
		n.quotes = true // the property names
		n.more = append(n.more, to)
	case "propertyNames":
		n.names = append(n.names, to)
	case "prefixItems":
		n.prefix = append(n.prefix, to)
	case "items", "additionalItems", "unevaluatedItems":
		n.items = append(n.items, to)
	case "contains":
		n.quotes = true
		n.contains = append(n.contains, to)
	}
}

// takes reports whether n may accept a value of the kind.
func (n *node) takes(kind string) bool {
	return len(n.types) == 0 || slices.Contains(n.types, any(kind)) || kind == "number" && slices.Contains(n.types, any("integer"))
}

// here returns the schemas that n applies to the same value, if it is of the kind.
func (n *node) here(kind string) edges {
	if !n.takes(kind) {
		return edges{both: n.ref}
	}
	return n.same
}

// forProperty returns the schemas that n applies to a property.
func (n *node) forProperty(name string) []*node {
	var all []*node
	if to := n.properties[name]; to != nil {
		all = append(all, to)
	}
	for _, p := range n.patterns {
		if p.name.MatchString(name) {
			all = append(all, p.node)
		}
	}
	if all == nil {
		return n.more
	}
	return all
}

// forItem returns the schemas that n applies to the item at an index.
func (n *node) forItem(i int) edges {
	if i < len(n.prefix) {
		return edges{both: append(slices.Clone(n.items), n.prefix[i]), trials: n.contains}
	}
	return edges{both: n.items, trials: n.contains}
}

// findCircle refuses schemas that apply themselves to the same value, because they never end.
func (g *graph) findCircle() error {
	const entered, left = 1, 2
	state := make(map[*node]int, len(g.nodes))
	var enter func(n *node) *node
	enter = func(n *node) *node {
		switch state[n] {
		case entered:
			return n
		case left:
			return nil
		}
		state[n] = entered
		for _, next := range slices.Concat(n.same.both, n.same.any, n.same.trials) {
			if on := enter(next); on != nil {
				return on
			}
		}
		state[n] = left
		return nil
	}
	for _, at := range slices.Sorted(maps.Keys(g.nodes)) {
		if on := enter(g.nodes[at]); on != nil {
			return fmt.Errorf("$ref is circular at %s", on.at)
		}
	}
	return nil
}
