package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
)

// misfit returns the reason why a value does not fit a schema, or "".
func misfit(t *testing.T, s *schema.Schema, value string) string {
	t.Helper()
	_, v, err := schema.DecodeValue([]byte(value))
	require.NoError(t, err)
	if err := s.Check("x", v); err != nil {
		return err.Error()
	}
	return ""
}

func TestEachKeywordChecks(t *testing.T) {
	t.Parallel()
	const draft07 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	for text, c := range map[string]struct{ good, bad, why string }{
		`{"type":"integer"}`:                                                             {`5.0`, `5.5`, `x: type: 5.5 has type "number", want "integer"`},
		`{"type":["string","null"]}`:                                                     {`null`, `1`, `x: type: 1 has type "integer", want one of "string, null"`},
		`{"enum":[1,"a",{"b":[1]}]}`:                                                     {`{"b":[1.0]}`, `"b"`, `x: enum: b does not equal any of: [1 a map[b:[1]]]`},
		`{"const":null}`:                                                                 {`null`, `0`, `x: const: 0 does not equal null`},
		`{"multipleOf":0.01}`:                                                            {`19.99`, `0.005`, `x: must be a multiple of 0.01, not 0.005`},
		`{"exclusiveMaximum":9007199254740992}`:                                          {`9007199254740991`, `9007199254740993`, `x: must be less than 9007199254740992, not 9007199254740993`},
		`{"maximum":0.3}`:                                                                {`0.3`, `0.30000000000000004`, `x: must be at most 0.3, not 0.30000000000000004`},
		`{"pattern":"^a+$"}`:                                                             {`"aa"`, `"ab"`, `x: pattern: "ab" does not match regular expression "^a+$"`},
		`{"allOf":[{"minimum":1},{"maximum":2}]}`:                                        {`1`, `3`, `x: must be at most 2, not 3`},
		`{"anyOf":[{"type":"null"},{"minimum":2}]}`:                                      {`null`, `1`, `x: anyOf: fits none of 2 schemas: type: 1 has type "integer", want "null"; must be at least 2, not 1`},
		`{"oneOf":[{"minimum":1},{"maximum":2}]}`:                                        {`0`, `1`, `x: oneOf: fits 2 of 2 schemas, and must fit only one`},
		`{"not":{"type":"null"}}`:                                                        {`1`, `null`, `x: not: fits the schema that it must not fit`},
		`{"if":{"minimum":5},"then":{"multipleOf":5}}`:                                   {`10`, `6`, `x: must be a multiple of 5, not 6`},
		`{"if":{"minimum":5},"else":false}`:                                              {`5`, `4`, `x: no value is allowed here`},
		`{"prefixItems":[{"type":"null"}],"items":false}`:                                {`[null]`, `[null,1]`, `x[]: no value is allowed here`},
		`{"prefixItems":[{"type":"null"}]}`:                                              {`[]`, `[1]`, `x[0]: type: 1 has type "integer", want "null"`},
		`{"contains":{"type":"null"}}`:                                                   {`[1,null]`, `[1]`, `x: contains: no item fits`},
		`{"contains":true,"minContains":2,"maxContains":2}`:                              {`[1,2]`, `[1]`, `x: must have at least 2 items that fit contains, not 1`},
		`{"uniqueItems":true}`:                                                           {`[1,"1"]`, `[1,1.0]`, `x: uniqueItems: array items 0 and 1 are equal`},
		`{"unevaluatedItems":false,"anyOf":[{"contains":{}}]}`:                           {`[1]`, `[]`, `x: anyOf: fits none of 1 schemas: contains: no item fits`},
		`{"required":["a","b"]}`:                                                         {`{"a":1,"b":1}`, `{"a":1}`, `x: required: missing properties: ["b"]`},
		`{"additionalProperties":false,"properties":{"a":{}}}`:                           {`{"a":1}`, `{"b":1,"a":1}`, `x: unexpected additional properties ["b"]`},
		`{"additionalProperties":{"type":"null"},"patternProperties":{"^a":{}}}`:         {`{"ab":1}`, `{"b":1}`, `x.*: type: 1 has type "integer", want "null"`},
		`{"propertyNames":{"maxLength":1}}`:                                              {`{"a":1}`, `{"ab":1}`, `x: must have at most 1 characters, not 2`},
		`{"minProperties":1}`:                                                            {`{"a":1}`, `{}`, `x: must have at least 1 properties, not 0`},
		`{"dependentRequired":{"a":["b"]}}`:                                              {`{"b":1}`, `{"a":1}`, `x: dependentRequired["a"]: missing properties ["b"]`},
		`{"dependentSchemas":{"a":{"maxProperties":1}}}`:                                 {`{"b":1,"c":1}`, `{"a":1,"b":1}`, `x: must have at most 1 properties, not 2`},
		`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}]}`:              {`{"a":1}`, `{"b":1}`, `x: unexpected additional properties ["b"]`},
		`{"anyOf":[{"type":"null"},{"format":"date"}]}`:                                  {`null`, `"now"`, `x: anyOf: fits none of 2 schemas: type: now has type "string", want "null"; "now" is no date; write it like 2026-12-01`},
		`{` + draft07 + `"items":[{"type":"null"}],"additionalItems":false}`:             {`[null]`, `[null,1]`, `x[]: no value is allowed here`},
		`{` + draft07 + `"dependencies":{"a":["b"],"c":{"maxProperties":1}}}`:            {`{"c":1}`, `{"a":1}`, `x: dependentRequired["a"]: missing properties ["b"]`},
		`{` + draft07 + `"$ref":"#/definitions/a","type":"null","definitions":{"a":{}}}`: {`1`, ``, ``},
	} {
		s := compile(t, text)
		assert.Empty(t, misfit(t, s, c.good), text)
		if c.bad != "" {
			assert.Equal(t, c.why, misfit(t, s, c.bad), text)
		}
	}
}

func TestDecimalsAreExact(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"multipleOf":0.01}`)
	for _, good := range []string{`19.99`, `0.07`, `4.35`, `1e300`, `-0.01`, `0`, `7`} {
		assert.Empty(t, misfit(t, s, good), good)
	}
	assert.NotEmpty(t, misfit(t, s, `19.995`))
}

func TestKeywordsOfOtherDraftsAreRefused(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		`{"items":[{"type":"null"}]}`:    `#/items: draft 2020-12 of JSON Schema has lists of schemas under prefixItems`,
		`{"dependencies":{"a":["b"]}}`:   `#/dependencies: draft 2020-12 of JSON Schema has no keyword dependencies`,
		`{"not":{"additionalItems":{}}}`: `#/not/additionalItems: draft 2020-12 of JSON Schema has no keyword additionalItems`,
		`{"$recursiveRef":"#"}`:          `#/$recursiveRef: draft 2020-12 of JSON Schema has no keyword $recursiveRef`,
		`{"exclusiveMinimum":true}`:      `#/exclusiveMinimum: true is not a number`,
		`{"required":true}`:              `#/required: true is not a list of names`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[]}`: `#/prefixItems: draft 07 of JSON Schema has no keyword prefixItems`,
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`:                  `#/$schema: drafts 2020-12 and 07 are supported, not http://json-schema.org/draft-04/schema#`,
	} {
		_, err := schema.Compile([]byte(text), new(schema.Bounds))
		assert.ErrorContains(t, err, why, text)
	}
	compile(t, `{"definitions":{"a":{}},"$ref":"#/definitions/a"}`)
	kept, err := schema.Compile([]byte(`{"items":[{"type":"null"}],"dependencies":{"a":["b"]}}`), &schema.Bounds{Stored: true})
	require.NoError(t, err, "a run keeps the schemas that it has")
	assert.Empty(t, misfit(t, kept, `[1]`))
}

func TestUnknownKeywordsAreDoubts(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"requird":["a"],"properties":{"a":{"nullable":true,"x-own":1,"title":"A","$comment":"c","deprecated":true}}}`)
	assert.Equal(t, []string{"#/properties/a/nullable", "#/requird"}, s.Doubts)
}

// What zod 4 writes for z.object of such members.
func TestSchemasOfZodAreAccepted(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{
		"mail":{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"},
		"took":{"type":"string","format":"duration","pattern":"^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$"},
		"name":{"type":"string","pattern":"^[\\u00C0-\\u017F]+$"},
		"pass":{"type":"string","pattern":"^(?=.*[A-Z])(?=.*\\d).{8,}$"},
		"n":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991},
		"kind":{"type":"string","const":"a"},
		"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]},
		"maybe":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"by":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{"type":"number"}},
		"file":{"type":"string","format":"base64","contentEncoding":"base64","pattern":"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$"}},
		"required":["mail"],"additionalProperties":false}`)
	assert.Empty(t, s.Doubts)
	assert.Empty(t, misfit(t, s, `{"mail":"a.b@example.org","took":"P1DT2H","name":"Ä","pass":"Secret123","n":1,"kind":"a","pair":["a",1],"maybe":null,"by":{"a":1},"file":"YQ=="}`))
	for bad, why := range map[string]string{
		`{"mail":"a..b@example.org"}`:                `x.mail: pattern: "a..b@example.org" does not match`,
		`{"mail":"a@example.org","took":"P"}`:        `x.took: pattern:`,
		`{"mail":"a@example.org","name":"A"}`:        `x.name: pattern:`,
		`{"mail":"a@example.org","pass":"secret12"}`: `x.pass: pattern:`,
		`{"mail":"a@example.org","pair":[1]}`:        `x.pair[0]: type:`,
	} {
		assert.Contains(t, misfit(t, s, bad), why)
	}
}

func TestAPatternThatTakesTooLongIsALimit(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"pattern":"^(?=(a+)+b)"}`)
	start := time.Now()
	assert.Equal(t, "x: checking the value against its schema may take too long", misfit(t, s, `"`+strings.Repeat("a", 200)+`"`))
	assert.Less(t, time.Since(start), 30*time.Second)
	assert.Empty(t, misfit(t, s, `"aab"`))
}

func TestADeepCheckIsALimit(t *testing.T) {
	t.Parallel()
	defs := make([]string, 300)
	for i := range defs {
		defs[i] = fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"}]}`, i, i+1)
	}
	s := compile(t, `{"$ref":"#/$defs/a0","$defs":{`+strings.Join(defs, ",")+`,"a300":{"properties":{"c":{"$ref":"#"}}}}}`)
	nested := func(depth int) string { return strings.Repeat(`{"c":`, depth) + "{}" + strings.Repeat("}", depth) }
	assert.Empty(t, misfit(t, s, nested(50)))
	assert.Equal(t, "x: checking the value against its schema may take too long", misfit(t, s, nested(900)))
}

// Nothing of these was allowed when the cost was estimated beforehand.
func TestWhatIsQuicklyCheckedIsChecked(t *testing.T) {
	t.Parallel()
	list := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	for name, c := range map[string]struct{ schema, value, why string }{
		"a choice for each item":   {`{"items":{"enum":[` + list(5000, `"a"`) + `,4999]}}`, `[` + list(5000, `4999`) + `]`, ""},
		"alternatives of a text":   {`{"anyOf":[` + list(1000, `{"type":"string"}`) + `]}`, `["` + strings.Repeat("x", 1<<20) + `"]`, "x: anyOf: fits none of 1000 schemas: type: [xxx"},
		"a flaw before the others": {`{"allOf":[{"type":"string"},{"$ref":"#/$defs/a"}],"$defs":{"a":{}}}`, `1`, `x: type: 1 has type "integer", want "string"`},
	} {
		got := misfit(t, compile(t, c.schema), c.value)
		assert.Equal(t, c.why, got[:min(len(c.why), len(got))], name)
		assert.Equal(t, c.why == "", got == "", name)
	}
}
