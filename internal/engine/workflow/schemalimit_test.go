package workflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// listed is a list of n things, between commas.
func listed(n int, thing func(i int) string) string {
	things := make([]string, n)
	for i := range things {
		things[i] = thing(i)
	}
	return strings.Join(things, ", ")
}

// doubling is a schema of 40 definitions, each of which applies the next one twice by a keyword.
func doubling(keyword, last string) string {
	const n = 40
	return `{$ref: '#/$defs/a0', $defs: {` + listed(n, func(i int) string {
		return fmt.Sprintf(`a%d: {%s: [{$ref: '#/$defs/a%d'}, {$ref: '#/$defs/a%d'}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`, a%d: %s}}`, n, last)
}

// withSchema is a workflow whose input has a schema.
func withSchema(schema string) string {
	return "name: w\ninput: " + schema + "\ntasks: [{id: t, run: x}]\n"
}

// chain is a schema of n definitions, each of which refers to the next one.
func chain(n int, last string) string {
	return `{$ref: '#/$defs/a0', $defs: {` + listed(n, func(i int) string {
		return fmt.Sprintf(`a%d: {$ref: '#/$defs/a%d'}`, i, i+1)
	}) + fmt.Sprintf(`, a%d: %s}}`, n, last)
}

func TestParseRefusesASchemaThatTakesTooMuch(t *testing.T) {
	t.Parallel()
	manyTimes := func(n int, pattern string) string {
		return `{properties: {` + listed(n, func(i int) string { return fmt.Sprintf(`p%d: {pattern: '%s'}`, i, pattern) }) + `}}`
	}
	long := strings.Repeat("n", 500_000)
	for name, c := range map[string]struct{ schema, message, hint string }{
		"a long pattern": {
			manyTimes(8, strings.Repeat("x{1000}", 3000)),
			"a pattern is longer than 10000 bytes", "split the pattern: all parts of an allOf must match",
		},
		"patterns with large repeats": {
			manyTimes(8, strings.Repeat("x{1000}", 100)),
			"the patterns are too large: together they compile to more than 1000000 instructions", "give repeats such as {1,1000} smaller bounds, or limit the text with maxLength",
		},
		"patterns of many characters": {
			manyTimes(3, strings.Repeat(`\pL`, 3000)),
			"the patterns are too large: together they compile to more than 1000000 instructions", "give repeats such as {1,1000} smaller bounds, or limit the text with maxLength",
		},
		"patterns of names": {
			`{patternProperties: {` + listed(12, func(i int) string { return fmt.Sprintf(`'%dx%s': {}`, i, strings.Repeat("x{1000}", 100)) }) + `}}`,
			"the patterns are too large: together they compile to more than 1000000 instructions", "give repeats such as {1,1000} smaller bounds, or limit the text with maxLength",
		},
		"schemas in schemas": {
			`{allOf: [` + listed(30_000, func(int) string { return "{}" }) + `]}`,
			"more than 20000 schemas, including the schemas inside of schemas", "put equal schemas under $defs once, and refer to them with $ref",
		},
		"names on the way to a schema": {
			`{properties: {` + long + `: {properties: {` + listed(1000, func(i int) string { return fmt.Sprintf("p%d: {}", i) }) + `}}}}`,
			"the paths of all schemas together are longer than 33554432 bytes", "shorten the names, or nest the schemas less deeply",
		},
		"a text used often": {
			`{default: &long ` + long + `, enum: [` + listed(1000, func(int) string { return "*long" }) + `]}`,
			"the texts in the file are longer than 8388608 bytes", "use fewer aliases (*name): each use of an alias counts",
		},
		"a default": {
			`{default: {}, ` + strings.TrimPrefix(doubling("allOf", "{}"), "{"),
			"checking the value against its schema may take too long", "use fewer references ($ref) to the same schema, or give a smaller value",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := parseError(t, withSchema(c.schema))
			assert.Equal(t, fault.InvalidWorkflow, e.Code)
			assert.Contains(t, e.Error(), c.message)
			assert.Equal(t, c.hint, strings.Join(e.Hints, ";"))
		})
	}
}

func TestTheBoundsOfSchemasAreThoseOfAFile(t *testing.T) {
	t.Parallel()
	pattern := fmt.Sprintf("{pattern: '%s'}", strings.Repeat("x{1000}", 100))
	parse(t, withSchema(pattern))
	e := parseError(t, "name: w\noutputs: {"+listed(5, func(i int) string { return fmt.Sprintf("t%d: %s", i, pattern) })+"}\ntasks: [{id: t, run: x}]\n")
	assert.Equal(t, fault.InvalidWorkflow, e.Code)
	assert.Contains(t, e.Error(), "outputs.t4: the patterns are too large")
}

func TestACircleIsFoundInALongChain(t *testing.T) {
	t.Parallel()
	e := parseError(t, withSchema(chain(6000, `{$ref: '#/$defs/a3000'}`)))
	assert.Equal(t, fault.InvalidWorkflow, e.Code)
	assert.Contains(t, e.Error(), "$ref is circular at #/$defs/a")
	require.NoError(t, parse(t, withSchema(chain(6000, `{type: object}`))).ValidateInput(nil), "one without is sound")
}

func TestACircleIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, message string }{
		"escaped":         {`{$ref: '#/$defs/a', $defs: {a: {$ref: '#/%24defs/%61'}}}`, "$ref is circular at #/$defs/a"},
		"in another case": {`{AllOf: [{$ref: '#'}]}`, "#/AllOf: write the keyword as allOf"},
		"by an index":     {`{allOf: [{}, {$ref: '#/allOf/+1'}]}`, "#/allOf/1/$ref: #/allOf/+1 points to no schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := parseError(t, withSchema(c.schema))
			assert.Equal(t, fault.InvalidWorkflow, e.Code)
			assert.Contains(t, e.Error(), c.message)
		})
	}
}

func TestAValueThatTakesTooLongToCheckIsRefused(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"c":`, 50) + "{}" + strings.Repeat("}", 50)
	for name, c := range map[string]struct{ schema, input string }{
		"references that double": {doubling("allOf", "{}"), `{}`},
		"alternatives of them":   {doubling("anyOf", "{type: string}"), `{}`},
		"one of them":            {doubling("oneOf", "{type: string}"), `{}`},
		"a schema of itself":     {`{properties: {c: {allOf: [{$ref: '#'}, {$ref: '#'}]}}}`, nested},
		"of itself by patterns":  {`{patternProperties: {c: {$ref: '#'}, '^c': {$ref: '#'}}}`, nested},
		"of itself by the rest":  {`{additionalProperties: {anyOf: [{$ref: '#'}, {$ref: '#'}]}}`, nested},
		"a pattern and a text":   {`{properties: {c: {pattern: '(x?){1000}y'}}}`, `{"c": "` + strings.Repeat("x", 1<<20) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := parse(t, withSchema(c.schema)).ValidateInput(json.RawMessage(c.input))
			assert.Equal(t, "input: checking the value against its schema may take too long", fails(t, fault.LimitExceeded, err))
			var known *fault.Error
			require.ErrorAs(t, err, &known)
			assert.Contains(t, known.Hints, "use fewer references ($ref) to the same schema, or give a smaller value")
		})
	}
}

// A hundred definitions, each of which refers to many others, with alternatives that a property tells apart.
func TestALargeSchemaStillWorks(t *testing.T) {
	t.Parallel()
	const kinds = 100
	schema := `{$ref: '#/$defs/node', $defs: {node: {oneOf: [` + listed(20, func(i int) string { return fmt.Sprintf(`{$ref: '#/$defs/k%d'}`, i) }) + `]}, ` +
		`name: {type: string, pattern: '^[a-z0-9-]{1,63}$'}, ` + listed(kinds, func(i int) string {
		return fmt.Sprintf(`k%d: {type: object, required: [kind], properties: {kind: {const: k%d}, name: {$ref: '#/$defs/name'}, %s}}`, i, i,
			listed(20, func(j int) string { return fmt.Sprintf(`p%d: {items: {$ref: '#/$defs/k%d'}}`, j, (i+7*j+1)%kinds) }))
	}) + `}}`
	wf := parse(t, withSchema(schema))
	item := func(kind, i int, inner string) string {
		return fmt.Sprintf(`{"kind":"k%d","name":"n-%d"%s}`, kind, i, inner)
	}
	value := item(3, 0, `,"p0":[`+listed(200, func(i int) string {
		return item(4, i, `,"p1":[`+listed(10, func(j int) string { return item(12, j, "") })+`]`)
	})+`]`)
	require.NoError(t, wf.ValidateInput(json.RawMessage(value)))
	err := wf.ValidateInput(json.RawMessage(strings.Replace(value, `"k12"`, `"k13"`, 1)))
	assert.Contains(t, fails(t, fault.InvalidInput, err), "input")
}
