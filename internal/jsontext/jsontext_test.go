package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

func TestAValueEndsWhereItEnds(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`1`, `-0.5e400`, `null`, `""`, `"a\"]}\\"`, `[]`, `[1,[2,"]"],{"a":"}"}]`, `{"a" : {"b":[ ]}}`, `"\ud800"`,
	} {
		for _, after := range []string{"", ",1", "]", "}", " ", "\n"} {
			text := `[` + value + after
			assert.Equal(t, len(value)+1, jsontext.ValueEnd([]byte(text), 1), text)
		}
	}
}

func TestWhiteSpaceIsSkipped(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 5, jsontext.SkipSpace([]byte("1 \t\r\n2"), 1))
	assert.Equal(t, 2, jsontext.SkipSpace([]byte("1 "), 1))
	assert.Equal(t, 0, jsontext.SkipSpace([]byte("1 "), 0))
}

func TestTextThatIsNotJSONHasNoEnd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, ` 1`, `]`, `"a`, `"\`, `"a\"`, `{"a"}`, `[1,]`, `x`, `tru`, "\"a\nb\"", `"\x"`} {
		assert.Equal(t, -1, jsontext.ValueEnd([]byte(text), 0), text)
		assert.False(t, jsontext.Valid([]byte(text)), text)
	}
	assert.Equal(t, -1, jsontext.StringEnd([]byte(`1`), 0))
	assert.Equal(t, -1, jsontext.StringEnd(nil, 0))
	assert.Equal(t, 4, jsontext.StringEnd([]byte(`"\""x`), 0))
	assert.False(t, jsontext.Valid([]byte("\"\xff\"")), "not UTF-8")
}

// depthOf counts byte by byte.
func depthOf(b []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch {
		case quoted && b[i] == '\\':
			i++
		case b[i] == '"':
			quoted = !quoted
		case quoted:
		case b[i] == '[' || b[i] == '{':
			depth++
			deepest = max(deepest, depth)
		case b[i] == ']' || b[i] == '}':
			depth--
		}
	}
	return deepest
}

func FuzzDeeperThan(f *testing.F) {
	for _, seed := range []string{
		``, `1`, `[]`, `[[{"a":[]}]]`, `["[[[[\"[[[["]`, `"\`, `{{{{{{{{{{`, `]]]][[[[`, "[\"a\x00\n\x7f\u00fby_Y[\",[]]", `[1,2,3,4,5,6,7,8,9,[10,11,12,13,14]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		depth := depthOf(data)
		assert.False(t, jsontext.DeeperThan(data, depth))
		assert.Equal(t, depth > 0, jsontext.DeeperThan(data, max(0, depth-1)))
	})
}

func BenchmarkDeeperThan(b *testing.B) {
	for name, text := range map[string]string{
		"texts":   strings.Repeat(`{"role":"user","text":"`+strings.Repeat("word and word ", 30)+`\n"},`, 2400),
		"numbers": strings.Repeat(`[12,3.5,true],{"id":7},`, 45000),
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte("[" + text + "0]")
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				jsontext.DeeperThan(data, 1000)
			}
		})
	}
}

func TestMembersAreThoseOfAnObject(t *testing.T) {
	t.Parallel()
	var members jsontext.Members
	require.NoError(t, json.Unmarshal([]byte(`{"b":1,"a":[2],"b":null}`), &members))
	assert.Equal(t, jsontext.Members{{"b", []byte("1")}, {"a", []byte("[2]")}, {"b", []byte("null")}}, members)
	for _, text := range []string{`["a",1]`, `"a"`, `1`, `true`} {
		var wrong *json.UnmarshalTypeError
		require.ErrorAs(t, json.Unmarshal([]byte(text), new(jsontext.Members)), &wrong, text)
	}
	var none jsontext.Members
	require.NoError(t, json.Unmarshal([]byte(`null`), &none))
	assert.Empty(t, none)
}
