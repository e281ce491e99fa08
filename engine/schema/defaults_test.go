package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/engine/schema"
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
		return s.CheckFormats("input", v)
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
		`{"day":"2026-02-29"}`:               `input.day: "2026-02-29" is no date`,
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

func TestSchemasThatReferToThemselvesEndTheCheckOfFormats(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"x":{"$ref":"#"}},"format":"date"}`)
	_, v, err := schema.DecodeValue([]byte(`{"x":{"x":{"x":"no"}}}`))
	require.NoError(t, err)
	require.ErrorContains(t, s.CheckFormats("input", v), `input.x.x.x: "no" is no date`)
}
