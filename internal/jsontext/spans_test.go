package jsontext_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/jsontext"
)

func TestSpansAndElementsStopAtWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		` { "a" : 1 , "\u00e4":{"b":[2]}} `: {`a=1`, `ä={"b":[2]}`},
		`{}`:                                nil,
		`[1]`:                               nil,
		``:                                  nil,
		`{"a":1,"a":2,x`:                    {`a=1`, `a=2`},
		`{"a":1 "b":2}`:                     {`a=1`},
		`{"a":tru}`:                         nil,
		"{\"\xff\":1,\"b\":":                {"\ufffd=1"},
	} {
		var got []string
		for m := range jsontext.Spans([]byte(text)) {
			got = append(got, jsontext.Unquote([]byte(text[m.Name:m.NameEnd]))+"="+text[m.Start:m.End])
		}
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string][]string{
		` [ 1 , [2] ,"]"] `: {`1`, `[2]`, `"]"`}, `[]`: nil, `{}`: nil, ``: nil, `[1,x]`: {`1`}, `[1 2]`: {`1`},
	} {
		var got []string
		for element := range jsontext.Elements([]byte(text)) {
			got = append(got, string(element))
		}
		assert.Equal(t, want, got, text)
	}
}
