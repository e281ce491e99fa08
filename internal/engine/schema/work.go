package schema

import "encoding/json"

// Costs of the parts of a validation. A step is a tenth of a microsecond on a slow machine.
const (
	stepsPerSchema  = 30 // steps to apply a schema to a value
	stepsPerEqual   = 20 // steps to compare two values
	programPerStep  = 8  // instructions of a pattern that run in a step, for each byte of a text
	messagesPerStep = 32 // bytes of messages that are written in a step
	bytesPerMessage = 64 // bytes of a message without the quoted values
	bytesPerLevel   = 16 // bytes that each enclosing schema adds to a message, besides the schema's pointer
	messagesHeldPer = 3  // bytes of messages that may be held at once, for each allowed step
)

// validationWork returns the estimated maximum number of steps to validate a value against n, including the steps to
// write the message of a failure. It counts each schema once for each value, although the library may visit a schema
// more often. If the number exceeds most, the result is any number above most, because counting ends early.
func validationWork(n *node, value any, most float64) float64 {
	w := worker{most: most}
	costs, _ := w.value(value, []*node{n})
	return max(w.spent, costs[n].steps+costs[n].failing/messagesPerStep)
}

// worker counts the steps of one validation.
type worker struct {
	most  float64
	spent float64 // a lower bound of the result; if spent exceeds most, counting ends
}

// cost is the cost of applying one schema to one value. The numbers are floats, because a float does not overflow.
type cost struct {
	steps   float64 // all steps, including the messages of failures that do not end the validation
	message float64 // bytes of the longest failure message
	failing float64 // bytes of all messages held during a failure, in which each schema rewrites the inner message
}

// add adds part to c. part is the cost of another schema, which must hold so that the schema of c holds. If the other
// schema fails, the validation ends, so only the longest message counts.
func (c *cost) add(part *cost) {
	c.steps += part.steps
	c.message = max(c.message, part.message)
	c.failing = max(c.failing, part.failing)
}

// try adds part to c. part is the cost of another schema, which may fail without ending the validation. All messages
// of such a failure count.
func (c *cost) try(part *cost) { c.steps += part.steps + part.failing/messagesPerStep }

// value returns the cost of applying each schema in asked to a value, and the size of the value. The cost of a schema
// includes the costs of the schemas that it applies in turn. The map also has an entry for each of these schemas that
// applies to the same value.
//
// If asked is empty, the map is nil. If w.spent exceeds w.most, counting has ended, and the results are incomplete.
func (w *worker) value(value any, asked []*node) (map[*node]*cost, size) {
	if len(asked) == 0 {
		return nil, sizeOf(value)
	}
	kind, costs := kindOf(value), make(map[*node]*cost, len(asked))
	var order []*node // schemas for the same value come before the schema that applies them
	for _, n := range asked {
		order = n.reach(kind, costs, order)
	}
	if w.spent > w.most {
		return costs, size{}
	}
	for _, n := range order {
		costs[n].steps = n.ownSteps(kind, value)
		w.spent += costs[n].steps
	}
	if w.spent > w.most {
		return costs, size{}
	}
	all := w.parts(value, order, costs)
	for _, n := range order {
		w.combine(n, kind, all, costs)
	}
	return costs, all
}

// reach appends to the list order the schemas that n applies to the same value, and then n. It returns the longer
// list. It adds a zero cost to seen for each appended schema, and skips schemas that are already in seen. kind is the
// value's JSON Schema type.
func (n *node) reach(kind string, seen map[*node]*cost, order []*node) []*node {
	if seen[n] != nil {
		return order
	}
	seen[n] = new(cost)
	here := n.here(kind)
	for _, edges := range [...][]*node{here.both, here.any, here.trials} {
		for _, next := range edges {
			order = next.reach(kind, seen, order)
		}
	}
	return append(order, n)
}

// ownSteps returns the number of steps to apply n, without its subschemas, to a value. kind is the value's JSON Schema
// type, as kindOf returns it.
func (n *node) ownSteps(kind string, value any) float64 {
	steps := stepsPerSchema + n.looks
	var text float64 // length of the texts that patterns read
	switch v := value.(type) {
	case string:
		text = float64(len(v))
	case []any:
		steps += float64(len(v))
	case map[string]any:
		steps += float64(len(v)) // each schema passes the properties that it saw to the enclosing one
		if len(n.patterns) > 0 && n.takes(kind) {
			for key := range v {
				text += float64(len(key) + 1)
			}
		}
	}
	return steps + text*n.program/programPerStep
}

// parts adds the costs of a value's parts, its properties or items, to costs. order lists the schemas that apply to the
// value. parts returns the size of the whole value.
func (w *worker) parts(value any, order []*node, costs map[*node]*cost) size {
	all := ownSize(value)
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			all.add(w.part(item, "object", order, costs, func(n *node) edges { return edges{both: n.forProperty(key)} }))
			w.part(key, "object", order, costs, func(n *node) edges { return edges{both: n.names} })
		}
	case []any:
		for i, item := range v {
			all.add(w.part(item, "array", order, costs, func(n *node) edges { return n.forItem(i) }))
		}
	}
	return all
}

// part adds the cost of one part of a value to costs. Each schema in the list order gets the cost of the schemas that
// it applies to the part. part returns the size of the part. kind is the kind of the whole value, and order lists the
// schemas that apply to the whole value. schemasOf returns the schemas that one of these schemas applies to the part.
func (w *worker) part(part any, kind string, order []*node, costs map[*node]*cost, schemasOf func(*node) edges) size {
	var applied []edges // one element for each schema in order that accepts the kind
	var asked []*node
	for _, n := range order {
		if !n.takes(kind) {
			continue
		}
		e := schemasOf(n)
		applied = append(applied, e)
		asked = append(append(asked, e.both...), e.trials...)
	}
	parts, size := w.value(part, asked)
	for _, n := range order {
		if !n.takes(kind) {
			continue
		}
		e := applied[0]
		applied = applied[1:]
		for _, to := range e.both {
			costs[n].add(parts[to])
		}
		for _, to := range e.trials {
			costs[n].try(parts[to])
		}
	}
	return size
}

// combine completes the cost of n. It adds the cost of n's own message, and the costs of the schemas that n applies
// to the same value. Their costs must be complete. kind is the JSON Schema type of the checked value, and value is
// its size. If the messages need too much memory, combine ends the counting.
func (w *worker) combine(n *node, kind string, value size, costs map[*node]*cost) {
	c, own := costs[n], bytesPerMessage+n.bytes // own is the size of n's own message
	if n.quotes || !n.takes(kind) {
		own += 2 * value.bytes
	}
	if n.unique {
		c.steps += stepsPerEqual * value.values
	}
	here := n.here(kind)
	for _, to := range here.both {
		c.add(costs[to])
	}
	for _, to := range here.trials {
		c.try(costs[to])
	}
	for _, to := range here.any {
		c.try(costs[to])
		own += 2 * costs[to].message // n's message quotes the messages of all alternatives
		c.failing += costs[to].failing
	}
	c.message = max(c.message, own) + float64(len(n.at)) + bytesPerLevel
	c.failing += c.message
	if c.failing > messagesHeldPer*w.most {
		w.spent = w.most + c.failing // above w.most, so counting ends
	}
}

// size is the size of a JSON value: its number of values and its bytes as text.
type size struct{ values, bytes float64 }

// add adds the size of a part.
func (s *size) add(part size) {
	s.values += part.values
	s.bytes += part.bytes
}

// ownSize returns the estimated size of a value without its items and properties, but with its property names. Each
// value counts as 8 bytes, and also as the bytes of its text or number.
func ownSize(value any) size {
	own := size{values: 1, bytes: 8}
	switch v := value.(type) {
	case string:
		own.bytes += float64(len(v))
	case json.Number:
		own.bytes += float64(len(v))
	case float64:
		own.bytes += 16
	case map[string]any:
		for key := range v {
			own.bytes += float64(len(key))
		}
	}
	return own
}

// sizeOf returns the estimated size of a value, including its items and properties.
func sizeOf(value any) size {
	all := ownSize(value)
	switch v := value.(type) {
	case map[string]any:
		for _, item := range v {
			all.add(sizeOf(item))
		}
	case []any:
		for _, item := range v {
			all.add(sizeOf(item))
		}
	}
	return all
}

// kindOf returns the JSON Schema type of a value. It returns "number" for integers, too.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return "number"
	}
}
