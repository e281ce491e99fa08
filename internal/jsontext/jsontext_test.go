package jsontext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
