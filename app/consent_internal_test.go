package app

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A command reads the input as it was given, so every member is shown, also one whose name comes twice.
func TestConsentShowsEachMemberOfAnInput(t *testing.T) {
	t.Parallel()
	for input, want := range map[string][]string{
		`{"b":1,"a":"x\ny"}`:          {"input a: x", "input a: y", "input b: 1"},
		`{"a":"rm -r .","a":"ls"}`:    {"input a: rm -r .", "input a: ls"},
		`{"a":{"b":"rm -r .","b":1}}`: {`input a: {"b":"rm -r .","b":1}`},
		`["a"]`:                       {`input: ["a"]`},
		`null`:                        nil,
		``:                            nil,
		`{}`:                          nil,
	} {
		assert.Equal(t, want, inputLines(json.RawMessage(input)), input)
	}
}
