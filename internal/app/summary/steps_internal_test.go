package summary

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpansThatOverlapAreCountedOnce(t *testing.T) {
	merged := spans{{10, 20}, {0, 5}, {15, 30}, {30, 31}, {40, 35}}.merged()
	assert.Equal(t, spans{{0, 5}, {10, 31}, {40, 40}}, merged)
	assert.Equal(t, int64(26), merged.length())
}

func TestInputsAreComparedByMember(t *testing.T) {
	for _, c := range []struct {
		name, was, is string
		want          []InputValue
	}{
		{"equal but for white space", `{"a": 1}`, `{"a":1}`, nil},
		{
			"changed, added and removed", `{"a":1,"b":2,"c":3}`, `{"a":1,"b":3,"d":4}`,
			[]InputValue{{"b", json.RawMessage("3")}, {"c", nil}, {"d", json.RawMessage("4")}},
		},
		{"no objects", `1`, `2`, []InputValue{{"", json.RawMessage("2")}}},
		{"nothing before", ``, `{"a":1}`, []InputValue{{"a", json.RawMessage("1")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var was json.RawMessage
			if c.was != "" {
				was = json.RawMessage(c.was)
			}
			assert.Equal(t, c.want, DifferentInputs(was, json.RawMessage(c.is)))
		})
	}
}
