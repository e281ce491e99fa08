package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
)

func compile(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(text), new(schema.Bounds))
	require.NoError(t, err)
	return s
}

func TestMissingMembersGetTheirDefaults(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{
		"b":{"default":2},"a":{"default":"x"},"none":{},"null":{"default":null},
		"deep":{"properties":{"c":{"default":[1]},"d":{}}},"made":{"default":{},"properties":{"e":{"default":5}}}}}`)
	for value, want := range map[string]string{
		`{}`:                                   `{"a":"x","b":2,"made":{"e":5},"null":null}`,
		`{ "b" : 12345678901234567890.0 }`:     `{ "b" : 12345678901234567890.0,"a":"x","made":{"e":5},"null":null}`,
		`{"deep":{"d":1},"z":0,"a":null}`:      `{"deep":{"d":1,"c":[1]},"z":0,"a":null,"b":2,"made":{"e":5},"null":null}`,
		`{"made":{ },"a":1,"b":1,"null":1}`:    `{"made":{"e":5},"a":1,"b":1,"null":1}`,
		`{"made":"text","a":1,"b":1,"null":1}`: `{"made":"text","a":1,"b":1,"null":1}`,
		`[1]`:                                  `[1]`, `null`: `null`, `"x"`: `"x"`,
	} {
		assert.Equal(t, want, string(s.Fill([]byte(value))), value)
	}
}

func TestFormatsAreAsserted(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{
		"at":{"format":"date-time"},"day":{"format":"date"},"mail":{"format":"email"},"page":{"format":"uri"},"id":{"format":"uuid"},
		"host":{"format":"hostname"},"four":{"format":"ipv4"},"six":{"format":"ipv6"},"re":{"format":"regex"},"own":{"format":"ticket"},
		"list":{"items":{"$ref":"#/$defs/day"}},"both":{"allOf":[{"format":"date"}]}},"$defs":{"day":{"format":"date"}}}`)
	check := func(value string) error {
		_, v, err := schema.DecodeValue([]byte(value))
		require.NoError(t, err)
		return s.Check("input", v)
	}
	for _, good := range []string{
		`{"at":"2026-11-29T18:00:00+01:00"}`, `{"day":"2024-02-29"}`, `{"mail":"a@example.org"}`, `{"page":"https://example.org/x"}`,
		`{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}`, `{"host":"a-1.example"}`, `{"four":"10.0.0.1"}`, `{"six":"::1"}`, `{"re":"a+"}`, `{"own":"anything"}`,
		`{"list":["2024-02-29"]}`, `{"day":5}`, `{}`,
	} {
		assert.NoError(t, check(good), good)
	}
	for bad, why := range map[string]string{
		`{"at":"yesterday"}`:                 `input.at: "yesterday" is no date-time`,
		`{"day":"2026-02-29"}`:               `input.day: "2026-02-29" is no date; write it like 2026-12-01`,
		`{"mail":"Anna <a@example.org>"}`:    `is no email`,
		`{"page":"/x"}`:                      `is no uri`,
		`{"id":"f81d4fae"}`:                  `is no uuid`,
		`{"host":"-a"}`:                      `is no hostname`,
		`{"four":"::1"}`:                     `is no ipv4`,
		`{"six":"10.0.0.1"}`:                 `is no ipv6`,
		`{"re":"("}`:                         `is no regex`,
		`{"list":["2024-02-29","tomorrow"]}`: `input.list[1]: "tomorrow" is no date`,
		`{"both":"now"}`:                     `input.both: "now" is no date`,
	} {
		assert.ErrorContains(t, check(bad), why, bad)
	}
}

func TestReasonsAreInPlainWords(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"min":{"minimum":10},"max":{"maximum":5},"over":{"exclusiveMinimum":0},"under":{"exclusiveMaximum":2.5},
		"tens":{"multipleOf":10},"long":{"minLength":3},"short":{"maxLength":2},"some":{"minItems":1},"few":{"maxItems":1}}}`)
	for bad, why := range map[string]string{
		`{"min":9.5}`:       `a.min: must be at least 10, not 9.5`,
		`{"max":9}`:         `a.max: must be at most 5, not 9`,
		`{"over":0}`:        `a.over: must be more than 0, not 0`,
		`{"under":2500000}`: `a.under: must be less than 2.5, not 2500000`,
		`{"tens":15}`:       `a.tens: must be a multiple of 10, not 15`,
		`{"long":"a\n"}`:    `a.long: must have at least 3 characters, not 2`,
		`{"short":"äöü"}`:   `a.short: must have at most 2 characters, not 3`,
		`{"some":[]}`:       `a.some: must have at least 1 items, not 0`,
		`{"few":[1,2]}`:     `a.few: must have at most 1 items, not 2`,
	} {
		_, v, err := schema.DecodeValue([]byte(bad))
		require.NoError(t, err)
		assert.EqualError(t, s.Check("a", v), why)
	}
}

func TestSchemasThatReferToThemselvesEndTheCheckOfFormats(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"x":{"$ref":"#"}},"format":"date"}`)
	_, v, err := schema.DecodeValue([]byte(`{"x":{"x":{"x":"no"}}}`))
	require.NoError(t, err)
	require.ErrorContains(t, s.Check("input", v), `input.x.x.x: "no" is no date`)
}
