package schema

import "encoding/json"

// Steps of each kind of work. A step is a tenth of a microsecond on a slow machine.
const (
	stepsPerSchema  = 30 // to apply a schema to a value
	stepsPerEqual   = 20 // to compare two values
	programPerStep  = 8  // instructions of a pattern, for each byte of a text
	messagesPerStep = 32 // bytes of written messages
	bytesPerMessage = 64 // of a message without the values that it quotes
	bytesPerLevel   = 16 // that each enclosing schema adds, besides its pointer
	messagesHeldPer = 3  // bytes of messages held at once, for each allowed step
)

// validationWork returns the maximum number of steps to validate a value. It counts each
// schema once for each value, although the library may visit it more often. Once the steps exceed most, it returns
// any larger number.
func validationWork(n *node, value any, most float64) float64 {
	w := worker{most: most}
	costs, _ := w.value(value, []*node{n})
	return max(w.spent, costs[n].steps+costs[n].failing/messagesPerStep)
}

// worker counts the steps of one validation.
type worker struct {
	most  float64
	spent float64 // a lower bound of the result; above most, counting ends
}

// cost is the cost of applying one schema to one value. Floats do not overflow.
type cost struct {
	steps   float64 // all steps, with the messages of failures that do not end the validation
	message float64 // bytes of the longest failure message
	failing float64 // bytes of all messages held then: each schema rewrites the inner message
}

// add adds the cost of a part whose failure fails the whole.
func (c *cost) add(part *cost) {
	c.steps += part.steps
	c.message = max(c.message, part.message)
	c.failing = max(c.failing, part.failing)
}

// try adds the cost of a part whose failure does not end the validation.
func (c *cost) try(part *cost) { c.steps += part.steps + part.failing/messagesPerStep }

// value returns the cost of applying each schema to a value, and the size of the value.
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

// reach appends the schemas that n applies to the same value, then n.
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

// ownSteps returns the cost of n without its subschemas.
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

// parts adds the costs of the parts of a value, and returns the size of the value.
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

// part adds the cost of one part of a value. of returns the schemas that a schema applies to the part.
func (w *worker) part(part any, kind string, order []*node, costs map[*node]*cost, of func(*node) edges) size {
	var applied []edges // by the schemas in order that accept the kind
	var asked []*node
	for _, n := range order {
		if !n.takes(kind) {
			continue
		}
		e := of(n)
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

// combine adds the costs of schemas for the same value, and of their messages.
func (w *worker) combine(n *node, kind string, value size, costs map[*node]*cost) {
	c, own := costs[n], bytesPerMessage+n.bytes
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
		own += 2 * costs[to].message
		c.failing += costs[to].failing
	}
	c.message = max(c.message, own) + float64(len(n.at)) + bytesPerLevel
	c.failing += c.message
	if c.failing > messagesHeldPer*w.most {
		w.spent = w.most + c.failing
	}
}

// size is the size of a JSON value: its number of values and its bytes as text.
type size struct{ values, bytes float64 }

func (s *size) add(part size) {
	s.values += part.values
	s.bytes += part.bytes
}

// ownSize returns the size of a value without its items, but with its keys.
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

// sizeOf returns the size of a whole value.
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

// kindOf returns the JSON Schema type of a value; integers are "number", too.
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
