package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Which keywords of JSON Schema hold schemas, and whether these apply to the same
// value (a reference back to itself then never ends) or to a part of it.
const (
	oneHere   = iota + 1 // a schema for the same value
	listHere             // a list of them
	mapHere              // a mapping to them
	oneBelow             // a schema, or a list of them, for a part of the value
	mapBelow             // a mapping to them
	anyValues            // values that are no schemas
)

var schemaKeywords = map[string]int{
	"allOf": listHere, "anyOf": listHere, "oneOf": listHere,
	"not": oneHere, "if": oneHere, "then": oneHere, "else": oneHere,
	"dependentSchemas": mapHere, "dependencies": mapHere,
	"properties": mapBelow, "patternProperties": mapBelow, "$defs": mapBelow, "definitions": mapBelow,
	"items": oneBelow, "prefixItems": oneBelow, "additionalItems": oneBelow, "unevaluatedItems": oneBelow,
	"contains": oneBelow, "additionalProperties": oneBelow, "unevaluatedProperties": oneBelow,
	"propertyNames": oneBelow, "contentSchema": oneBelow,
	"enum": anyValues, "const": anyValues, "default": anyValues, "examples": anyValues,
}

var (
	schemaTypes    = []string{"null", "boolean", "object", "array", "number", "integer", "string"}
	schemaVersions = []string{
		"https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
	}
)

// schemaInspector finds what the schema library would accept and then fail on, or
// never return from, at the first value.
type schemaInspector struct {
	here map[string][]string // pointer of a schema -> those that apply to the same value
}

// inspectSchema checks a schema: known types, references to places inside of it
// that do not go in circles, and numbers that a double can hold.
func inspectSchema(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var root any
	if err := dec.Decode(&root); err != nil {
		return err
	}
	in := schemaInspector{here: make(map[string][]string)}
	if err := in.schema("#", root); err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(in.here)) {
		if in.circular(at, at, make(map[string]bool)) {
			return fmt.Errorf("$ref goes in a circle at %s", at)
		}
	}
	return nil
}

func (in schemaInspector) circular(start, at string, seen map[string]bool) bool {
	for _, next := range in.here[at] {
		if next == start {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if in.circular(start, next, seen) {
				return true
			}
		}
	}
	return false
}

// schema checks the schema at a pointer and those inside of it.
func (in schemaInspector) schema(at string, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		if _, ok := value.(bool); ok {
			return nil
		}
		return fmt.Errorf("%s: a schema must be an object", at)
	}
	in.here[at] = nil
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := in.keyword(at, key, object[key]); err != nil {
			return err
		}
	}
	return nil
}

func (in schemaInspector) keyword(at, key string, value any) error {
	pointer := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	switch kind := schemaKeywords[key]; kind {
	case oneHere, listHere, mapHere, oneBelow, mapBelow:
		return in.nested(at, pointer, kind, value)
	case anyValues:
		return exactNumbers(pointer, value)
	}
	switch key {
	case "type":
		return checkTypes(pointer, value)
	case "$ref":
		return in.ref(at, value)
	case "$dynamicRef", "$recursiveRef":
		return fmt.Errorf("%s: not supported", pointer)
	case "$id":
		if at != "#" {
			return fmt.Errorf("%s: an $id inside of a schema is not supported", pointer)
		}
	case "$schema":
		if s, ok := value.(string); !ok || !slices.Contains(schemaVersions, s) {
			return fmt.Errorf("%s: drafts 2020-12 and 07 are supported, not %v", pointer, value)
		}
	case "multipleOf":
		if n, ok := value.(json.Number); ok {
			if f, err := n.Float64(); err != nil || f <= 0 {
				return fmt.Errorf("%s: must be above 0", pointer)
			}
		}
	}
	return exactNumbers(pointer, value)
}

// nested walks the schemas that a keyword holds.
func (in schemaInspector) nested(at, pointer string, kind int, value any) error {
	visit := func(pointer string, value any) error {
		if kind == oneHere || kind == listHere || kind == mapHere {
			in.here[at] = append(in.here[at], pointer)
		}
		return in.schema(pointer, value)
	}
	switch v := value.(type) {
	case []any:
		if kind == mapHere { // draft-07: property names that must be there too
			return nil
		}
		for i, item := range v {
			if err := visit(pointer+"/"+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if kind != mapHere && kind != mapBelow {
			return visit(pointer, v)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if _, names := v[key].([]any); names && kind == mapHere {
				continue
			}
			step := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			if err := visit(pointer+"/"+step, v[key]); err != nil {
				return err
			}
		}
		return nil
	default:
		return visit(pointer, value)
	}
}

// ref notes where a reference leads: to a place inside of this schema.
func (in schemaInspector) ref(at string, value any) error {
	ref, ok := value.(string)
	if !ok || ref != "#" && !strings.HasPrefix(ref, "#/") {
		return fmt.Errorf(`%s/$ref: %v must point into the schema itself, like "#/$defs/name"`, at, value)
	}
	in.here[at] = append(in.here[at], ref)
	return nil
}

func checkTypes(at string, value any) error {
	names, ok := value.([]any)
	if !ok {
		names = []any{value}
	}
	for _, name := range names {
		text, ok := name.(string)
		if !ok || !slices.Contains(schemaTypes, text) {
			return fmt.Errorf("%s: %v is no type; types are %s", at, name, strings.Join(schemaTypes, ", "))
		}
	}
	return nil
}

var errInexact = errors.New("is no exact double, and would be compared as another number")

// exactNumbers refuses integers that the library, which reads doubles, would change.
func exactNumbers(at string, value any) error {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := exactNumbers(at+"/"+key, v[key]); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := exactNumbers(at+"/"+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case json.Number:
		exact, ok := new(big.Int).SetString(v.String(), 10)
		if !ok {
			return nil
		}
		f, err := v.Float64()
		if err != nil {
			return fmt.Errorf("%s: %s %w", at, v, errInexact)
		}
		if back, _ := new(big.Float).SetFloat64(f).Int(nil); back.Cmp(exact) != 0 {
			return fmt.Errorf("%s: %s %w", at, v, errInexact)
		}
	}
	return nil
}
