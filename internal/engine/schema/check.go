package schema

import (
	"encoding/json"
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

// The kinds of values of JSON Schema keywords.
const (
	schemaOrList     = iota + 1 // a schema or a list of schemas
	schemasByName               // a mapping to schemas
	schemasOrStrings            // a mapping to schemas or, in draft-07, to lists of property names
	anyValues                   // values that are not schemas
)

// schemaKeywords maps keywords to the kinds of their values. A keyword that is not in the map has a value of another
// kind, without schemas.
var schemaKeywords = map[string]int{
	"allOf": schemaOrList, "anyOf": schemaOrList, "oneOf": schemaOrList,
	"not": schemaOrList, "if": schemaOrList, "then": schemaOrList, "else": schemaOrList,
	"dependentSchemas": schemasOrStrings, "dependencies": schemasOrStrings,
	"properties": schemasByName, "patternProperties": schemasByName, "$defs": schemasByName, "definitions": schemasByName,
	"items": schemaOrList, "prefixItems": schemaOrList, "additionalItems": schemaOrList, "unevaluatedItems": schemaOrList,
	"contains": schemaOrList, "additionalProperties": schemaOrList, "unevaluatedProperties": schemaOrList,
	"propertyNames": schemaOrList, "contentSchema": schemaOrList,
	"enum": anyValues, "const": anyValues, "default": anyValues, "examples": anyValues,
}

var (
	schemaTypes    = []string{"null", "boolean", "object", "array", "number", "integer", "string"}
	schemaVersions = []string{
		"https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
	}
)

// foldedKeywords maps the keywords to inspect from lower case to their correct case. The schema library accepts a
// keyword in any case, so the method keyword refuses a wrong case.
var foldedKeywords = func() map[string]string {
	folded := make(map[string]string)
	for _, key := range append(slices.Collect(maps.Keys(schemaKeywords)), "$ref", "$dynamicRef", "type", "pattern", "required", "dependentRequired") {
		folded[strings.ToLower(key)] = key
	}
	return folded
}()

// schemaInspector finds schemas that the library would accept, but that make a later validation fail or run
// forever. It builds the graph by which validationWork counts the work of a validation.
type schemaInspector struct {
	graph  *graph
	refs   map[*node]string // the target of each $ref
	bounds *Bounds
}

// inspect checks a decoded schema and returns its graph. It refuses unknown types, unsupported keywords, references
// out of the schema, circular references, and integers that a float64 does not hold exactly. It adds the schema's
// cost to bounds; if a limit is exceeded, the error is a *LimitError. A reference without a target is no error here:
// inspect records it in the graph.
func inspect(root any, bounds *Bounds) (*graph, error) {
	in := schemaInspector{
		graph: &graph{nodes: make(map[string]*node)}, refs: make(map[*node]string), bounds: bounds,
	}
	if err := in.schema("#", root); err != nil {
		return nil, err
	}
	in.graph.root = in.graph.nodes["#"]
	if err := in.follow(); err != nil {
		return nil, err
	}
	return in.graph, in.graph.findCircle()
}

// follow adds an edge to the graph for each reference that points to a schema. The referring schema and its target
// check the same value. follow adds the other references to the graph's dangling references. A reference that is not
// a URL is an error.
func (in schemaInspector) follow() error {
	for n, ref := range in.refs {
		at, err := refTarget(ref)
		if err != nil {
			return fmt.Errorf("%s/$ref: %w", n.at, err)
		}
		if to := in.graph.nodes[at]; to != nil {
			n.ref = []*node{to}
			n.same.both = append(n.same.both, to)
		} else {
			in.graph.dangling = append(in.graph.dangling, n.at+"/$ref: "+ref)
		}
	}
	return nil
}

// refTarget returns the JSON pointer of a reference's target, in the form of the graph's keys. The error means that
// ref is not a URL.
func refTarget(ref string) (string, error) {
	u, err := url.Parse(ref)
	if err != nil {
		return "", err
	}
	steps := strings.Split(u.Fragment, "/")
	for i, step := range steps {
		steps[i] = stepEscaper.Replace(stepUnescaper.Replace(step))
	}
	return "#" + strings.Join(steps, "/"), nil
}

// Escapes of JSON pointer steps.
var (
	stepEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	stepUnescaper = strings.NewReplacer("~0", "~", "~1", "/")
)

// schema checks value, which is a schema, and its subschemas. It adds them to the graph, and their cost to in.bounds.
// at is the schema's JSON pointer. If value is neither an object nor a boolean, it is no schema, and the result is an
// error.
func (in schemaInspector) schema(at string, value any) error {
	object, ok := value.(map[string]any)
	if _, boolean := value.(bool); !ok && !boolean {
		return fmt.Errorf("%s: a schema must be an object", at)
	}
	if err := in.bounds.addSchema(at); err != nil {
		return err
	}
	in.graph.nodes[at] = &node{at: at}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := in.keyword(at, key, object[key]); err != nil {
			return err
		}
	}
	return nil
}

// keyword checks one keyword of a schema and adds it to the graph. It refuses a keyword in wrong case, an unsupported
// keyword, and a value that the validation could not handle. at is the JSON pointer of the schema. key and value are
// the keyword's name and value.
func (in schemaInspector) keyword(at, key string, value any) error {
	pointer, node := at+"/"+stepEscaper.Replace(key), in.graph.nodes[at]
	if known, ok := foldedKeywords[strings.ToLower(key)]; ok && known != key {
		return fmt.Errorf("%s: write the keyword as %s", pointer, known)
	}
	switch kind := schemaKeywords[key]; kind {
	case schemaOrList, schemasByName, schemasOrStrings:
		return in.nested(node, pointer, kind, key, value)
	case anyValues:
		node.note(key, value)
		return exactNumbers(pointer, value)
	}
	// The value of any other keyword holds no schemas.
	node.note(key, value)
	switch key {
	case "pattern":
		return in.pattern(node, value)
	case "type":
		node.types = typeNames(value)
		return checkTypes(pointer, node.types)
	case "$ref":
		return in.ref(at, value)
	case "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("%s: git-smithers does not support this keyword", pointer)
	case "$id":
		if at != "#" {
			return fmt.Errorf("%s: an $id inside of a schema is not supported", pointer)
		}
	case "$schema":
		if s, ok := value.(string); !ok || !slices.Contains(schemaVersions, s) {
			return fmt.Errorf("%s: drafts 2020-12 and 07 are supported, not %s", pointer, shown(value))
		}
	case "multipleOf":
		if n, ok := value.(json.Number); ok {
			if f, err := n.Float64(); err != nil || f <= 0 {
				return fmt.Errorf("%s: the number must be above 0", pointer)
			}
		}
	}
	return exactNumbers(pointer, value)
}

// nested checks the schemas in the value of a keyword and links node to them. The value is a schema, a list of
// schemas, or an object whose members are schemas or lists of property names. key and value are the keyword's name
// and value, pointer is its JSON pointer, and kind is its kind in schemaKeywords.
func (in schemaInspector) nested(node *node, pointer string, kind int, key string, value any) error {
	// visit checks and links one schema. suffix is the part of the schema's JSON pointer after pointer. step is the
	// schema's property name or pattern, or "" if the keyword has no names.
	visit := func(suffix, step string, value any) error {
		to := pointer + suffix
		if key == "patternProperties" {
			if err := in.pattern(node, step); err != nil {
				return err
			}
		}
		if err := in.schema(to, value); err != nil {
			return err
		}
		node.link(key, step, in.graph.nodes[to])
		return nil
	}
	switch v := value.(type) {
	case []any:
		if kind != schemaOrList { // the schema library reports the flaw
			return nil
		}
		for i, item := range v {
			if err := visit("/"+strconv.Itoa(i), "", item); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if kind == schemaOrList {
			return visit("", "", v)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if _, names := v[name].([]any); names && kind == schemasOrStrings { // a list of property names
				node.note(key, v[name])
				continue
			}
			if err := visit("/"+stepEscaper.Replace(name), name, v[name]); err != nil {
				return err
			}
		}
		return nil
	default:
		// A boolean is a schema. The method schema refuses any other value.
		return visit("", "", value)
	}
}

// ref records value, the $ref of a schema, in in.refs. at is the JSON pointer of the schema. It is an error if value
// does not point into the inspected schema itself.
func (in schemaInspector) ref(at string, value any) error {
	ref, ok := value.(string)
	if !ok || ref != "#" && !strings.HasPrefix(ref, "#/") {
		return fmt.Errorf(`%s/$ref: %s must point into the schema itself, like "#/$defs/name"`, at, shown(value))
	}
	in.refs[in.graph.nodes[at]] = ref
	return nil
}

// pattern adds the size of the regular expression in value to node and to in.bounds. If a limit is exceeded, the error
// is a *LimitError. pattern ignores an invalid expression, because the schema library reports it.
func (in schemaInspector) pattern(node *node, value any) error {
	text, ok := value.(string)
	if !ok {
		return nil
	}
	size, err := in.bounds.addPattern(text)
	if err != nil {
		return err
	}
	node.program += float64(size)
	return nil
}

// typeNames returns the type names in the value of a type keyword. If value is not a list, the result has value as
// its only element.
func typeNames(value any) []any {
	if names, ok := value.([]any); ok {
		return names
	}
	return []any{value}
}

// checkTypes returns an error if a name is not a JSON Schema type. at is the JSON pointer of the type keyword.
func checkTypes(at string, names []any) error {
	for _, name := range names {
		text, ok := name.(string)
		if !ok || !slices.Contains(schemaTypes, text) {
			return fmt.Errorf("%s: %s is not a type; types are %s", at, shown(name), strings.Join(schemaTypes, ", "))
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

var errInexact = errors.New("is too large to be compared exactly")

// exactNumbers returns an error if a value contains an integer that a float64 does not hold exactly, because the
// library compares numbers as float64. at is the JSON pointer of the value.
func exactNumbers(at string, value any) error {
	if path, number, ok := inexact(value); ok {
		return fmt.Errorf("%s%s: %s %w", at, path, number, errInexact)
	}
	return nil
}

// inexact returns the first integer in a value that a float64 does not hold exactly. path is the path from the value
// to the integer. Members are visited in the order of their names. found is false if the value has no such integer.
func inexact(value any) (path string, number json.Number, found bool) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if path, number, found := inexact(v[key]); found {
				return "/" + key + path, number, true
			}
		}
	case []any:
		for i, item := range v {
			if path, number, found := inexact(item); found {
				return "/" + strconv.Itoa(i) + path, number, true
			}
		}
	case json.Number:
		return "", v, !isExact(v)
	}
	return "", "", false
}

// isExact reports whether a float64 holds an integer exactly. It returns true for a number with a fraction or
// exponent.
func isExact(n json.Number) bool {
	exact, ok := new(big.Int).SetString(n.String(), 10)
	if !ok {
		return true
	}
	f, err := n.Float64()
	if err != nil {
		return false
	}
	back, _ := new(big.Float).SetFloat64(f).Int(nil)
	return back.Cmp(exact) == 0
}
