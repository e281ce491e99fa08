package engine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// schemaGraph is a schema as the schemas in it and what each applies. Safe for concurrent use.
type schemaGraph struct {
	root     *schemaNode
	nodes    map[string]*schemaNode // by pointer
	dangling []string               // references to places without a schema
}

// schemaNode is one schema. Its edges lead to the schemas that it applies to the same value, or to a part of it.
type schemaNode struct {
	at       string
	types    []any   // a value of another type gets to its ref alone; empty: any
	looks    float64 // the steps to go through its own values
	bytes    float64 // the size of these values, which messages quote
	program  float64 // the size of its patterns
	quotes   bool    // a message may quote the value
	unique   bool    // it compares all items
	defaults []any   // the value of its default

	ref  []*schemaNode // where its $ref leads to, also in both
	same edges         // for the same value

	properties map[string]*schemaNode
	patterns   []patternNode
	more       []*schemaNode // for properties that neither names
	names      []*schemaNode // for the names of properties
	prefix     []*schemaNode // for the items at the beginning, each for one
	items      []*schemaNode // for every item
	contains   []*schemaNode // for every item, to find one that fits
}

// edges are schemas that are applied to one value.
type edges struct {
	both   []*schemaNode // a failure is one of the whole
	any    []*schemaNode // the failures of all together are one of the whole
	trials []*schemaNode // the validation goes on after a failure
}

// patternNode is a schema for the properties whose names match.
type patternNode struct {
	name *regexp.Regexp
	*schemaNode
}

// note takes in what a keyword holds that is no schema.
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

// own takes in a value that a validation goes through, and what each value in it takes.
func (n *schemaNode) own(value any, steps float64) {
	size := sizeOf(value)
	n.looks += steps * size.values
	n.bytes += size.bytes
}

// link adds the edge that a keyword makes. name is that of the property or pattern.
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
		if re, err := regexp.Compile(name); err == nil { // else the schema library refuses it
			n.patterns = append(n.patterns, patternNode{re, to})
		}
	case "additionalProperties", "unevaluatedProperties":
		n.quotes = true // the names
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

// takes reports whether a value of the kind may be of a type that n allows.
func (n *schemaNode) takes(kind string) bool {
	return len(n.types) == 0 || slices.Contains(n.types, any(kind)) || kind == "number" && slices.Contains(n.types, any("integer"))
}

// here returns the schemas that n applies to the same value, of a kind.
func (n *schemaNode) here(kind string) edges {
	if !n.takes(kind) {
		return edges{both: n.ref}
	}
	return n.same
}

// forProperty returns the schemas that n applies to the property of a name.
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

// findCircle refuses schemas that apply themselves to the same value, which never ends.
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
			return fmt.Errorf("$ref goes in a circle at %s", on.at)
		}
	}
	return nil
}
