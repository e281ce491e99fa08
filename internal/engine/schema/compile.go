package schema

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/plain"
)

// operand is the form that the value of a keyword has.
type operand int

const (
	annotation operand = iota + 1 // any value, which checks nothing
	inPlace                       // a schema or a list of schemas, for the same value
	forParts                      // a schema or a list of schemas, for parts of the value
	byName                        // schemas by name
	numeric
	special // a value with a rule of its own: see special
	foreign // the keyword is of another draft alone
)

// keywords has the keywords of 2020-12, with their operands. Those of draft-07 differ in draft07.
var (
	keywords = map[string]operand{
		"allOf": inPlace, "anyOf": inPlace, "oneOf": inPlace, "not": inPlace, "if": inPlace, "then": inPlace, "else": inPlace,
		"prefixItems": forParts, "items": forParts, "contains": forParts, "unevaluatedItems": forParts, "propertyNames": forParts,
		"additionalProperties": forParts, "unevaluatedProperties": forParts, "contentSchema": forParts,
		"properties": byName, "patternProperties": byName, "$defs": byName, "definitions": byName, "dependentSchemas": byName,
		"minimum": numeric, "maximum": numeric, "exclusiveMinimum": numeric, "exclusiveMaximum": numeric, "multipleOf": numeric,
		"minLength": numeric, "maxLength": numeric, "minItems": numeric, "maxItems": numeric, "minContains": numeric, "maxContains": numeric,
		"minProperties": numeric, "maxProperties": numeric,
		"type": special, "enum": special, "const": special, "default": special, "uniqueItems": special, "pattern": special, "format": special,
		"required": special, "dependentRequired": special, "$ref": special, "$schema": special, "$id": special, "$dynamicRef": special,
		"title": annotation, "description": annotation, "examples": annotation, "deprecated": annotation, "readOnly": annotation,
		"writeOnly": annotation, "$comment": annotation, "contentEncoding": annotation, "contentMediaType": annotation,
		"$anchor": annotation, "$vocabulary": annotation, "id": annotation,
		"additionalItems": foreign, "dependencies": foreign, "$recursiveRef": foreign, "$recursiveAnchor": foreign, "divisibleBy": foreign,
		"disallow": foreign, "extends": foreign,
	}
	draft07 = map[string]operand{
		"additionalItems": forParts, "dependencies": byName,
		"prefixItems": foreign, "unevaluatedItems": foreign, "unevaluatedProperties": foreign, "dependentSchemas": foreign,
		"dependentRequired": foreign, "minContains": foreign, "maxContains": foreign,
	}
)

// The values of $schema.
var (
	versions2020 = []string{"https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#"}
	versions07   = []string{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#"}
)

var schemaTypes = []string{"null", "boolean", "object", "array", "number", "integer", "string"}

// node is one compiled schema.
type node struct {
	at       string // the schema's JSON pointer
	refuses  bool   // the schema is false
	ref      *node
	types    []string
	enum     map[string]bool // the keys of the values; nil without enum
	enumText string          // the values for messages
	constant []any           // the value of const; nil without const
	preset   []any           // the default; nil without one
	format   string
	pattern  *pattern
	unique   bool
	tuple    bool // items is a list, in draft-07
	required []string

	numbers  map[string]*big.Rat // by keyword
	parts    map[string][]part   // the schemas in it, by keyword
	requires map[string][]string // the names that a member requires, by its name
	same     []*node             // the schemas for the same value
}

// part is a schema in another one.
type part struct {
	name    string   // "" in a list and if the keyword has only one schema
	pattern *pattern // what the name means in patternProperties
	*node
}

// one returns the only schema of a keyword, or nil.
func (n *node) one(key string) *node {
	if parts := n.parts[key]; len(parts) > 0 {
		return parts[0].node
	}
	return nil
}

// compiler makes nodes from a decoded schema.
type compiler struct {
	bounds  *Bounds
	draft07 bool
	nodes   map[string]*node // by JSON pointer
	order   []*node          // as they were read
	refs    map[*node]string // the target of each $ref
	doubts  []string         // unknown keywords, which may be misspelt
	tracks  bool             // a schema looks at what others have evaluated
}

// compile compiles the schema in value and those in it. at is its JSON pointer.
func (c *compiler) compile(at string, value any) (*node, error) {
	object, ok := value.(map[string]any)
	accepts, boolean := value.(bool)
	if !ok && !boolean {
		return nil, fmt.Errorf("%s: a schema must be an object", at)
	}
	if err := c.bounds.addSchema(at); err != nil {
		return nil, err
	}
	if at == "#" {
		version, _ := object["$schema"].(string)
		c.draft07 = slices.Contains(versions07, version)
	}
	n := &node{
		at: at, refuses: boolean && !accepts,
		numbers: map[string]*big.Rat{}, parts: map[string][]part{}, requires: map[string][]string{},
	}
	c.nodes[at] = n
	c.order = append(c.order, n)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := c.keyword(n, key, at+"/"+stepEscaper.Replace(key), object[key]); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"} {
		for _, to := range n.parts[key] {
			n.same = append(n.same, to.node)
		}
	}
	return n, nil
}

// keyword reads a keyword of the schema n. at is the keyword's JSON pointer.
func (c *compiler) keyword(n *node, key, at string, value any) error {
	operand := keywords[key]
	if other, ok := draft07[key]; ok && c.draft07 {
		operand = other
	}
	if _, list := value.([]any); list && key == "items" && !c.draft07 {
		operand = foreign // 2020-12 has such lists under prefixItems
	}
	switch operand {
	case inPlace, forParts, byName:
		return c.nested(n, key, at, value, operand == byName)
	case numeric:
		limit := ratOf(value)
		if limit == nil {
			return wrong(at, value, "a number")
		}
		if key == "multipleOf" && limit.Sign() <= 0 {
			return fmt.Errorf("%s: the number must be above 0", at)
		}
		n.numbers[key] = limit
	case special:
		return c.special(n, key, at, value)
	case foreign:
		if !c.bounds.Stored {
			return c.foreign(key, at)
		}
	case annotation:
	default:
		return c.unknown(key, at)
	}
	return nil
}

// foreign returns the error of a keyword of another draft.
func (c *compiler) foreign(key, at string) error {
	draft := "2020-12"
	switch {
	case c.draft07:
		draft = "07"
	case key == "items":
		return fmt.Errorf("%s: draft 2020-12 of JSON Schema has lists of schemas under prefixItems; $schema says which draft a schema is of", at)
	}
	return fmt.Errorf("%s: draft %s of JSON Schema has no keyword %s; $schema says which draft a schema is of", at, draft, key)
}

// wrong returns the error of a keyword with a value that is not what it must be.
func wrong(at string, value any, what string) error {
	return fmt.Errorf("%s: %s is not %s", at, shown(value), what)
}

// nested compiles the schemas in the value of a keyword: a schema, a list, or schemas by name.
func (c *compiler) nested(n *node, key, at string, value any, byName bool) error {
	if key == "unevaluatedItems" || key == "unevaluatedProperties" {
		c.tracks = true
	}
	if list, ok := value.([]any); ok && !byName {
		n.tuple = n.tuple || key == "items"
		for i, v := range list {
			if err := c.add(n, key, "", at+"/"+strconv.Itoa(i), v); err != nil {
				return err
			}
		}
		return nil
	}
	if !byName {
		return c.add(n, key, "", at, value)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return wrong(at, value, "an object")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := c.add(n, key, name, at+"/"+stepEscaper.Replace(name), object[name]); err != nil {
			return err
		}
	}
	return nil
}

// add compiles a schema in the schema n. In draft-07, a list of names can be in its place under dependencies.
func (c *compiler) add(n *node, key, name, at string, value any) (err error) {
	if key == "dependencies" {
		if _, ok := value.([]any); ok {
			n.requires[name], err = texts(at, value)
			return err
		}
		key = "dependentSchemas"
	}
	p := part{name: name}
	if key == "patternProperties" {
		if p.pattern, err = newPattern(name, c.bounds); err != nil {
			return patternError(key, err)
		}
	}
	if p.node, err = c.compile(at, value); err == nil {
		n.parts[key] = append(n.parts[key], p)
	}
	return err
}

// special reads a keyword whose value has a rule of its own.
func (c *compiler) special(n *node, key, at string, value any) (err error) {
	word, isText := value.(string)
	switch key {
	case "type":
		n.types, err = typeNames(at, value)
	case "enum":
		values, ok := value.([]any)
		if !ok {
			return wrong(at, value, "a list")
		}
		n.enum, n.enumText = make(map[string]bool, len(values)), fmt.Sprint(values)
		for _, v := range values {
			n.enum[keyOf(v)] = true
		}
	case "const":
		n.constant = []any{value}
	case "default":
		n.preset = []any{value}
	case "uniqueItems":
		n.unique = value == true
	case "format":
		n.format = word
	case "pattern":
		if !isText {
			return wrong(at, value, "a pattern")
		}
		n.pattern, err = newPattern(word, c.bounds)
		return patternError(key, err)
	case "required":
		n.required, err = texts(at, value)
	case "dependentRequired":
		object, ok := value.(map[string]any)
		if !ok {
			return wrong(at, value, "an object")
		}
		for name, names := range object {
			if n.requires[name], err = texts(at, names); err != nil {
				return err
			}
		}
	case "$ref":
		if !isText || word != "#" && !strings.HasPrefix(word, "#/") {
			return fmt.Errorf(`%s: %s must point into the schema itself, like "#/$defs/name"`, at, shown(value))
		}
		c.refs[n] = word
	case "$schema":
		if !slices.Contains(versions2020, word) && !slices.Contains(versions07, word) {
			return fmt.Errorf("%s: drafts 2020-12 and 07 are supported, not %s", at, shown(value))
		}
	case "$dynamicRef":
		return fmt.Errorf("%s: git-smithers does not support this keyword", at)
	case "$id":
		if n.at != "#" {
			return fmt.Errorf("%s: an $id inside of a schema is not supported", at)
		}
	}
	return err
}

// patternError adds the keyword to the error of a pattern, unless it is a *LimitError or nil.
func patternError(key string, err error) error {
	if _, ok := errors.AsType[*LimitError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", key, err)
}

// unknown refuses a keyword in wrong case, and notes any other unknown keyword. Keywords that begin with x- are for other programs.
func (c *compiler) unknown(key, at string) error {
	for known := range keywords {
		if strings.EqualFold(known, key) {
			return fmt.Errorf("%s: write the keyword as %s", at, known)
		}
	}
	if !strings.HasPrefix(key, "x-") {
		c.doubts = append(c.doubts, plain.Cut(at, maxError))
	}
	return nil
}

// texts returns the texts in a list.
func texts(at string, value any) ([]string, error) {
	values, ok := value.([]any)
	all := make([]string, len(values))
	for i, v := range values {
		var text bool
		all[i], text = v.(string)
		ok = ok && text
	}
	if !ok {
		return nil, wrong(at, value, "a list of names")
	}
	return all, nil
}

// typeNames returns the types in the value of a type keyword: a list or a single one. at is the JSON pointer of the keyword.
func typeNames(at string, value any) (all []string, err error) {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	for _, name := range names {
		text, ok := name.(string)
		if !ok || !slices.Contains(schemaTypes, text) {
			return nil, wrong(at, name, "a type; types are "+strings.Join(schemaTypes, ", "))
		}
		all = append(all, text)
	}
	return all, nil
}

// follow links each schema with $ref to its target. A reference without a target is an error.
func (c *compiler) follow() error {
	for _, n := range c.order {
		ref, ok := c.refs[n]
		if !ok {
			continue
		}
		pointer, err := url.PathUnescape(ref[1:])
		if err != nil {
			return fmt.Errorf("%s/$ref: %w", n.at, err)
		}
		steps := strings.Split(pointer, "/")
		for i, step := range steps {
			steps[i] = stepEscaper.Replace(stepUnescaper.Replace(step))
		}
		if n.ref = c.nodes["#"+strings.Join(steps, "/")]; n.ref == nil {
			last := stepUnescaper.Replace(steps[len(steps)-1])
			if _, err := strconv.Atoi(last); err == nil {
				return fmt.Errorf("%s/$ref: %s points to no schema", n.at, ref)
			}
			return fmt.Errorf("JSON Pointer %q: no key %q in map", pointer, last)
		}
		n.same = append(n.same, n.ref)
	}
	return nil
}

// Escapes of JSON pointer steps.
var (
	stepEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	stepUnescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

// findCircle returns an error if a schema applies itself to the same value, directly or through other schemas,
// because such a check never ends.
func (c *compiler) findCircle() error {
	// A depth-first search: a schema that is reached again before the search has left it closes a circle.
	const entered, left = 1, 2
	state := make(map[*node]int, len(c.nodes))
	var enter func(n *node) error
	enter = func(n *node) error {
		switch state[n] {
		case entered:
			return fmt.Errorf("$ref is circular at %s", n.at)
		case left:
			return nil
		}
		state[n] = entered
		for _, next := range n.same {
			if err := enter(next); err != nil {
				return err
			}
		}
		state[n] = left
		return nil
	}
	for _, n := range c.order {
		if err := enter(n); err != nil {
			return err
		}
	}
	return nil
}

// shown returns the value of a keyword for a message, cut at maxError. A string is as written, and any other value is
// JSON. If the value cannot be encoded, the text is "the value".
func shown(value any) string {
	if s, ok := value.(string); ok {
		return plain.Cut(s, maxError)
	}
	text, err := jsontext.Encode(value)
	if err != nil {
		return "the value"
	}
	return plain.Cut(string(text), maxError)
}
