package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// schemaGraph is a schema as a graph of its subschemas. Safe for concurrent use.
type schemaGraph struct {
	root     *schemaNode
	nodes    map[string]*schemaNode // by JSON pointer
	dangling []string               // references without a schema at their target
}

// schemaNode is one schema. Its edges lead to the schemas for the same value or for a part of it.
type schemaNode struct {
	at       string
	types    []any   // a value of another type is only checked by ref; empty: any type
	looks    float64 // steps to read its own values
	bytes    float64 // size of these values, which messages quote
	program  float64 // size of its patterns
	quotes   bool    // a message may quote the value
	unique   bool    // it compares all items with each other
	defaults []any   // its default

	ref  []*schemaNode // the target of its $ref, which is also in both
	same edges         // for the same value

	properties map[string]*schemaNode
	patterns   []patternNode
	more       []*schemaNode // for properties without a schema of their own
	names      []*schemaNode // for property names
	prefix     []*schemaNode // for the first items, one each
	items      []*schemaNode // for every item
	contains   []*schemaNode // for every item, until one matches
}

// edges are schemas for one value.
type edges struct {
	both   []*schemaNode // a failure fails the whole
	any    []*schemaNode // the whole fails if all fail
	trials []*schemaNode // a failure does not end the validation
}

// patternNode is a schema for the properties whose names match a pattern.
type patternNode struct {
	name *regexp.Regexp
	*schemaNode
}

// note records the value of a keyword that holds no schemas.
func (n *schemaNode) note(key string, value any) {
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
func (n *schemaNode) own(value any, steps float64) {
	size := sizeOf(value)
	n.looks += steps * size.values
	n.bytes += size.bytes
}

// link adds the edge of a keyword. name is the property or pattern.
func (n *schemaNode) link(key, name string, to *schemaNode) {
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
			n.properties = make(map[string]*schemaNode)
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
func (n *schemaNode) takes(kind string) bool {
	return len(n.types) == 0 || slices.Contains(n.types, any(kind)) || kind == "number" && slices.Contains(n.types, any("integer"))
}

// here returns the schemas that n applies to the same value, if it is of the kind.
func (n *schemaNode) here(kind string) edges {
	if !n.takes(kind) {
		return edges{both: n.ref}
	}
	return n.same
}

// forProperty returns the schemas that n applies to a property.
func (n *schemaNode) forProperty(name string) []*schemaNode {
	var all []*schemaNode
	if to := n.properties[name]; to != nil {
		all = append(all, to)
	}
	for _, p := range n.patterns {
		if p.name.MatchString(name) {
			all = append(all, p.schemaNode)
		}
	}
	if all == nil {
		return n.more
	}
	return all
}

// forItem returns the schemas that n applies to the item at an index.
func (n *schemaNode) forItem(i int) edges {
	if i < len(n.prefix) {
		return edges{both: append(slices.Clone(n.items), n.prefix[i]), trials: n.contains}
	}
	return edges{both: n.items, trials: n.contains}
}

// findCircle refuses schemas that apply themselves to the same value, because they never end.
func (g *schemaGraph) findCircle() error {
	const entered, left = 1, 2
	state := make(map[*schemaNode]int, len(g.nodes))
	var enter func(n *schemaNode) *schemaNode
	enter = func(n *schemaNode) *schemaNode {
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
