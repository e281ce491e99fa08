package list

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheLengthOfSpansCountsOverlapsOnce(t *testing.T) {
	t.Parallel()
	assert.Equal(t, int64(0), spans(nil).length())
	assert.Equal(t, int64(30), spans{{20, 40}, {0, 10}}.length())
	assert.Equal(t, int64(40), spans{{0, 40}, {10, 20}, {30, 40}}.length())
	assert.Equal(t, int64(50), spans{{30, 50}, {0, 40}}.length())
}

func TestAColumnNamesAMember(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"input": {}, "input.a.b": {"a", "b"}, "outputs.t": {"t"}, "outputs.a.b.c": {"a", "b", "c"},
	} {
		c, ok := ParseColumn(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, c.Path, name)
		assert.Equal(t, name, c.Name)
	}
	for _, name := range []string{"", "outputs", "input.", "outputs..a", "other", "inputs.a"} {
		_, ok := ParseColumn(name)
		assert.False(t, ok, name)
	}
	table, rest := tableOf([]string{"a", "a.b"}, []string{"a", "b", "c"})
	assert.Equal(t, "a.b", table, "the longest table")
	assert.Equal(t, []string{"c"}, rest)
	table, rest = tableOf(nil, []string{"x", "y"})
	assert.Equal(t, "x", table)
	assert.Equal(t, []string{"y"}, rest)

	row := json.RawMessage(` {"a":{"b":12345678901234567890,"n":null},"s":"{"}`)
	assert.Equal(t, `12345678901234567890`, string(memberAt(row, []string{"a", "b"})))
	assert.Equal(t, `null`, string(memberAt(row, []string{"a", "n"})))
	assert.Equal(t, string(row), string(memberAt(row, nil)))
	for _, path := range [][]string{{"none"}, {"s", "x"}, {"a", "b", "c"}} {
		assert.Nil(t, memberAt(row, path), path)
	}
	assert.Nil(t, memberAt(json.RawMessage(`[1]`), []string{"0"}))
}
