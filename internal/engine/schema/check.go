package schema

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// check is one check of a value against a schema. It counts its steps. When left is negative, no step is left: everything fits from then
// on, and the caller looks at left.
type check struct {
	left    int64
	depth   int // of the schemas that are being applied
	draft07 bool
	formats bool // the keyword format is asserted
	tracks  bool // a schema looks at what others have evaluated
}

// spend takes steps from those that are left, and reports whether some are left.
func (c *check) spend(steps int64) bool {
	c.left -= steps
	return c.left >= 0
}

// evaluated has the members and items of a value that a schema, and the schemas that it applies to the same value, have looked at.
type evaluated struct {
	all  bool
	some map[string]bool // the names of members, or the numbers of items
}

// add adds what other has looked at. It adds nothing if no schema asks for it.
func (c *check) add(e, other *evaluated) {
	if e == nil || !c.tracks {
		return
	}
	e.all = e.all || other.all
	if e.some == nil {
		e.some = make(map[string]bool)
	}
	maps.Copy(e.some, other.some)
}

// flaw is the first part of a value that does not fit. String makes its text: most flaws belong to alternatives and are never shown.
type flaw struct {
	path   string // from the value to the part at fault
	exact  bool   // the path has the numbers of items
	format string
	args   []any
}

// found returns a flaw of a value. format and args are its message.
func found(format string, args ...any) *flaw { return &flaw{format: format, args: args} }

// in puts a step before the path of the flaw.
func (f *flaw) in(step string) *flaw {
	f.path = step + f.path
	return f
}

// inItem puts the item i before the path of the flaw.
func (f *flaw) inItem(i int) *flaw {
	if f.exact {
		return f.in("[" + strconv.Itoa(i) + "]")
	}
	return f.in("[]")
}

// String returns the path and the message.
func (f *flaw) String() string {
	message := plain.Cut(fmt.Sprintf(f.format, f.args...), maxError)
	if f.path == "" {
		return message
	}
	return f.path + ": " + message
}

// flaws are the flaws of all alternatives.
type flaws []*flaw

// String returns the texts of the first flaws.
func (all flaws) String() string {
	var b strings.Builder
	for i, f := range all {
		if i > 0 {
			b.WriteString("; ")
		}
		if b.Len() > maxError {
			break
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// quoted returns a value as messages show it.
func quoted(value any) any {
	if value == nil {
		return "null"
	}
	return value
}

// fits returns the first flaw of a value, or nil. seen gets what has been looked at; it may be nil.
func (c *check) fits(n *node, value any, seen *evaluated) *flaw {
	if c.depth++; c.depth > maxDepth {
		c.left = -1
	}
	defer func() { c.depth-- }()
	if !c.spend(stepsPerSchema) {
		return nil
	}
	if n.refuses {
		return found("no value is allowed here")
	}
	var own evaluated
	if n.ref != nil {
		f := c.fits(n.ref, value, &own)
		if f != nil || c.draft07 { // draft-07 ignores what stands beside a $ref
			return f
		}
	}
	f := c.kind(n, value)
	if f == nil {
		f = c.combined(n, value, &own)
	}
	if f == nil {
		switch v := value.(type) {
		case nil, bool:
		case string:
			f = c.text(n, v)
		case []any:
			f = c.list(n, v, &own)
		case map[string]any:
			f = c.object(n, v, &own)
		default:
			f = c.number(n, v)
		}
	}
	if f == nil {
		c.add(seen, &own)
	}
	return f
}

// kind checks the keywords type, enum and const.
func (c *check) kind(n *node, value any) *flaw {
	if n.types != nil {
		kind := kindOf(value)
		if !slices.Contains(n.types, kind) && (kind != "integer" || !slices.Contains(n.types, "number")) {
			if len(n.types) == 1 {
				return found("type: %v has type %q, want %q", quoted(value), kind, n.types[0])
			}
			return found("type: %v has type %q, want one of %q", quoted(value), kind, strings.Join(n.types, ", "))
		}
	}
	if n.enum == nil && n.constant == nil {
		return nil
	}
	key := keyOf(value)
	c.spend(int64(len(key)) / bytesPerStep)
	if n.enum != nil && !n.enum[key] {
		return found("enum: %v does not equal any of: %s", quoted(value), n.enumText)
	}
	if n.constant != nil && keyOf(n.constant[0]) != key {
		return found("const: %v does not equal %v", quoted(value), quoted(n.constant[0]))
	}
	return nil
}

// limits are the keywords for numbers.
var limits = []struct {
	key, words string
	holds      func(x, limit *big.Rat) bool
}{
	{"multipleOf", "must be a multiple of", func(x, limit *big.Rat) bool { return new(big.Rat).Quo(x, limit).IsInt() }},
	{"minimum", "must be at least", func(x, limit *big.Rat) bool { return x.Cmp(limit) >= 0 }},
	{"maximum", "must be at most", func(x, limit *big.Rat) bool { return x.Cmp(limit) <= 0 }},
	{"exclusiveMinimum", "must be more than", func(x, limit *big.Rat) bool { return x.Cmp(limit) > 0 }},
	{"exclusiveMaximum", "must be less than", func(x, limit *big.Rat) bool { return x.Cmp(limit) < 0 }},
}

// number checks the keywords for numbers.
func (c *check) number(n *node, value any) *flaw {
	if len(n.numbers) == 0 {
		return nil
	}
	x := ratOf(value)
	for _, l := range limits {
		if limit := n.numbers[l.key]; limit != nil && !l.holds(x, limit) {
			return found("%s %s, not %s", l.words, ratText(limit), ratText(x))
		}
	}
	return nil
}

// text checks the keywords for texts.
func (c *check) text(n *node, text string) *flaw {
	if f := c.size(n, "Length", "characters", utf8.RuneCountInString(text)); f != nil {
		return f
	}
	if n.pattern != nil && !c.matches(n.pattern, text) {
		return found("pattern: %q does not match regular expression %q", text, n.pattern.text)
	}
	return c.format(n.format, text)
}

// size checks the two keywords that limit a size. what ends their names.
func (c *check) size(n *node, what, unit string, size int) *flaw {
	if len(n.numbers) == 0 {
		return nil
	}
	x := new(big.Rat).SetInt64(int64(size))
	if least := n.numbers["min"+what]; least != nil && x.Cmp(least) < 0 {
		return found("must have at least %s %s, not %d", ratText(least), unit, size)
	}
	if most := n.numbers["max"+what]; most != nil && x.Cmp(most) > 0 {
		return found("must have at most %s %s, not %d", ratText(most), unit, size)
	}
	return nil
}

// combined checks the keywords that apply other schemas to the same value.
func (c *check) combined(n *node, value any, seen *evaluated) *flaw {
	for _, to := range n.parts["allOf"] {
		if f := c.fits(to.node, value, seen); f != nil {
			return f
		}
	}
	if f := c.alternatives(n.parts["anyOf"], "anyOf", value, seen, len(n.parts["anyOf"])); f != nil {
		return f
	}
	if f := c.alternatives(n.parts["oneOf"], "oneOf", value, seen, 1); f != nil {
		return f
	}
	if not := n.one("not"); not != nil && c.fits(not, value, nil) == nil {
		return found("not: fits the schema that it must not fit")
	}
	condition := n.one("if")
	if condition == nil {
		return nil
	}
	next := n.one("else")
	if c.fits(condition, value, seen) == nil {
		next = n.one("then")
	}
	if next == nil {
		return nil
	}
	return c.fits(next, value, seen)
}

// alternatives checks a keyword with alternatives, of which one at least and the given number at most must fit. It looks at all of them, for
// what they evaluate.
func (c *check) alternatives(of []part, key string, value any, seen *evaluated, most int) *flaw {
	var all flaws
	for _, to := range of {
		if f := c.fits(to.node, value, seen); f != nil {
			all = append(all, f)
		}
	}
	switch fitting := len(of) - len(all); {
	case fitting > most:
		return found("%s: fits %d of %d schemas, and must fit only one", key, fitting, len(of))
	case fitting == 0 && len(of) > 0:
		return found("%s: fits none of %d schemas: %v", key, len(of), all)
	}
	return nil
}

// list checks the keywords for lists.
func (c *check) list(n *node, list []any, seen *evaluated) *flaw {
	prefix, rest := n.parts["prefixItems"], n.one("items")
	if tuple := n.parts["items"]; c.draft07 && n.tuple {
		prefix, rest = tuple, n.one("additionalItems")
	}
	done := make(map[string]bool)
	for i, item := range list[:min(len(prefix), len(list))] {
		if f := c.fits(prefix[i].node, item, nil); f != nil {
			return f.in("[" + strconv.Itoa(i) + "]")
		}
	}
	first := min(len(prefix), len(list))
	if c.tracks {
		for i := range first {
			done[strconv.Itoa(i)] = true
		}
	}
	if f := c.items(rest, list, first, nil); f != nil {
		return f
	}
	if f := c.contains(n, list, done); f != nil {
		return f
	}
	if f := c.size(n, "Items", "items", len(list)); f != nil {
		return f
	}
	if f := c.unique(n, list); f != nil {
		return f
	}
	c.add(seen, &evaluated{rest != nil, done})
	rest = n.one("unevaluatedItems")
	if rest == nil || seen.all {
		return nil
	}
	seen.all = true
	return c.items(rest, list, 0, seen.some)
}

// items checks the items from the given one on against a schema, except those whose numbers are in done. The schema may be nil.
func (c *check) items(n *node, list []any, from int, done map[string]bool) *flaw {
	if n == nil {
		return nil
	}
	for i, item := range list[from:] {
		if done != nil && done[strconv.Itoa(i)] {
			continue
		}
		if f := c.fits(n, item, nil); f != nil {
			return f.inItem(from + i)
		}
	}
	return nil
}

// contains checks the keywords contains, minContains and maxContains. It adds the numbers of the fitting items to done.
func (c *check) contains(n *node, list []any, done map[string]bool) *flaw {
	wanted := n.one("contains")
	if wanted == nil {
		return nil
	}
	fitting := 0
	for i, item := range list {
		if c.fits(wanted, item, nil) == nil {
			fitting++
			done[strconv.Itoa(i)] = true
		}
	}
	if n.numbers["minContains"] == nil && fitting == 0 {
		return found("contains: no item fits")
	}
	return c.size(n, "Contains", "items that fit contains", fitting)
}

// unique checks the keyword uniqueItems.
func (c *check) unique(n *node, list []any) *flaw {
	if !n.unique {
		return nil
	}
	before := make(map[string]int, len(list))
	for i, item := range list {
		key := keyOf(item)
		if !c.spend(1 + int64(len(key))/bytesPerStep) {
			return nil
		}
		if first, ok := before[key]; ok {
			return found("uniqueItems: array items %d and %d are equal", first, i)
		}
		before[key] = i
	}
	return nil
}

// object checks the keywords for objects.
func (c *check) object(n *node, object map[string]any, seen *evaluated) *flaw {
	done := make(map[string]bool)
	if !c.spend(int64(len(n.parts["properties"]))) {
		return nil
	}
	for _, to := range n.parts["properties"] {
		if value, ok := object[to.name]; ok {
			if f := c.fits(to.node, value, nil); f != nil {
				return f.in("." + to.name)
			}
			done[to.name] = true
		}
	}
	var names []string // if a keyword looks at all names
	if len(n.parts) > 0 {
		c.spend(int64(len(object)))
		names = slices.Sorted(maps.Keys(object))
	}
	for _, to := range n.parts["patternProperties"] {
		for _, name := range names {
			if c.matches(to.pattern, name) {
				if f := c.fits(to.node, object[name], nil); f != nil {
					return f.in(".*")
				}
				done[name] = true
			}
		}
	}
	rest := n.one("additionalProperties")
	if f := c.rest(rest, object, names, done); f != nil {
		return f
	}
	c.add(seen, &evaluated{rest != nil, done})
	for _, to := range n.parts["propertyNames"] {
		for _, name := range names {
			if f := c.fits(to.node, name, nil); f != nil {
				return f
			}
		}
	}
	if f := c.size(n, "Properties", "properties", len(object)); f != nil {
		return f
	}
	if f := c.needed(n, object, seen); f != nil {
		return f
	}
	rest = n.one("unevaluatedProperties")
	if rest == nil || seen.all {
		return nil
	}
	seen.all = true
	return c.rest(rest, object, names, seen.some)
}

// rest checks the members whose names are not in done against a schema, which may be nil.
func (c *check) rest(n *node, object map[string]any, names []string, done map[string]bool) *flaw {
	if n == nil {
		return nil
	}
	var disallowed []string
	for _, name := range names {
		switch {
		case done[name]:
		case n.refuses:
			disallowed = append(disallowed, name)
		default:
			if f := c.fits(n, object[name], nil); f != nil {
				return f.in(".*")
			}
		}
	}
	if disallowed != nil {
		return found("unexpected additional properties %q", disallowed)
	}
	return nil
}

// needed checks the keywords that ask for members.
func (c *check) needed(n *node, object map[string]any, seen *evaluated) *flaw {
	if missing := c.missing(n.required, object); missing != nil {
		return found("required: missing properties: %q", missing)
	}
	for _, name := range slices.Sorted(maps.Keys(n.requires)) {
		if _, ok := object[name]; !ok {
			continue
		}
		if missing := c.missing(n.requires[name], object); missing != nil {
			return found("dependentRequired[%q]: missing properties %q", name, missing)
		}
	}
	for _, to := range n.parts["dependentSchemas"] {
		if _, ok := object[to.name]; ok {
			if f := c.fits(to.node, object, seen); f != nil {
				return f
			}
		}
	}
	return nil
}

// missing returns the names that an object lacks.
func (c *check) missing(names []string, object map[string]any) (missing []string) {
	c.spend(int64(len(names)))
	for _, name := range names {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
		}
	}
	return missing
}
