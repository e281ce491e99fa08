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
	dangling []string         // references without a schema at their target, each with its JSON pointer
}

// node is one schema. Its edges lead to the schemas for the same value or for a part of the value.
type node struct {
	at       string  // the schema's JSON pointer
	types    []any   // the accepted types; if empty, any type. For a value of another type, only ref is checked
	looks    float64 // steps to read the values of the schema's keywords
	bytes    float64 // size of these values, which messages quote
	program  float64 // instructions of the schema's patterns
	quotes   bool    // a message may quote the checked value
	unique   bool    // the schema compares all items with each other
	defaults []any   // the schema's default, if the schema has one

	ref  []*node // the target of $ref, if the schema has one; same.both has the target, too
	same edges   // schemas for the same value

	properties map[string]*node // schemas for properties, by name
	patterns   []patternNode    // schemas for properties whose names match
	more       []*node          // schemas for properties without a schema of their own
	names      []*node          // schemas for property names
	prefix     []*node          // schemas for the first items, one for each item
	items      []*node          // schemas for every item
	contains   []*node          // schemas for every item, until an item matches
}

// edges holds the schemas that a schema applies to one value.
type edges struct {
	both   []*node // if one of these fails, the schema fails
	any    []*node // if all of these fail, the schema fails
	trials []*node // a failure of one of these does not end the validation
}

// patternNode is a schema for the properties whose names match a pattern.
type patternNode struct {
	name *regexp.Regexp
	*node
}

// note records in n what the keyword key adds to the costs of a validation. value is the keyword's value, which holds
// no schemas. Depending on the keyword, note records a default or the size of the value. For some keywords, it records
// that the items are compared, or that a message quotes the checked value. note ignores keywords without costs.
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

// own adds to the costs of n the value of a keyword that a validation reads. steps is the number of steps for each
// JSON value in value.
func (n *node) own(value any, steps float64) {
	size := sizeOf(value)
	n.looks += steps * size.values
	n.bytes += size.bytes
}

// link adds an edge from n to another schema, which is in the value of a keyword of n. key is the keyword's name and
// determines the list of n that gets the edge. name is the property name or the pattern to which the schema belongs;
// keywords without such names ignore it.
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

// takes reports whether the types of n accept a value. kind is the value's JSON Schema type, as kindOf returns it. If n
// accepts integers, takes accepts every number.
func (n *node) takes(kind string) bool {
	return len(n.types) == 0 || slices.Contains(n.types, any(kind)) || kind == "number" && slices.Contains(n.types, any("integer"))
}

// here returns the schemas that n applies to the same value. kind is the value's JSON Schema type, as kindOf returns
// it. If the types of n refuse the kind, n applies only the target of its $ref.
func (n *node) here(kind string) edges {
	if !n.takes(kind) {
		return edges{both: n.ref}
	}
	return n.same
}

// forProperty returns the schemas that n applies to the property with the given name: the schema for this name and
// the schemas for patterns that match the name. If n has none of these, it returns the schemas for all other
// properties.
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

// forItem returns the schemas that n applies to the item at index i. The list both has the schema for this index and
// the schemas for every item. The list trials has the schemas of contains.
func (n *node) forItem(i int) edges {
	if i < len(n.prefix) {
		return edges{both: append(slices.Clone(n.items), n.prefix[i]), trials: n.contains}
	}
	return edges{both: n.items, trials: n.contains}
}

// findCircle returns an error if a schema applies itself to the same value, directly or through other schemas,
// because such a validation never ends.
func (g *graph) findCircle() error {
	// A depth-first search: a schema that is reached again before the search has left it closes a circle.
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
