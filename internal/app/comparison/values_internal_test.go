package comparison

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func rowsOf(tables map[string]string) []map[string]newestRow {
	rows, at := make(map[string]newestRow), 0
	for _, name := range []string{"first", "a.b", "a", "outputs", "usage", "last"} {
		if value, ok := tables[name]; ok {
			rows[name] = newestRow{json.RawMessage(value), at}
			at++
		}
	}
	return []map[string]newestRow{rows}
}

func TestColumnsAreFoundByTheirNames(t *testing.T) {
	t.Parallel()
	rows := rowsOf(map[string]string{"a": `{"b":{"c":1},"x":2}`, "a.b": `{"c":3}`})
	for name, want := range map[string]Column{
		"a.x":           {"a", []string{"x"}},
		"outputs.a.x":   {"a", []string{"x"}},
		"a.b.c":         {"a.b", []string{"c"}}, // the table with the longest name
		"a":             {"a", nil},
		"gone.x.y":      {"gone", []string{"x", "y"}},
		"outputs.gone":  {"gone", nil},
		"outputs.a.x.y": {"a", []string{"x", "y"}},
	} {
		assert.Equal(t, want, columnOf(name, rows), name)
	}
	named := rowsOf(map[string]string{"outputs": `{"a":1}`})
	assert.Equal(t, Column{"outputs", []string{"a"}}, columnOf("outputs.a", named), "a table may be called outputs")
	assert.JSONEq(t, "1", string(Column{"a", []string{"b", "c"}}.in(rows[0]["a"].value)))
	assert.Nil(t, Column{"a", []string{"x", "y"}}.in(rows[0]["a"].value))
	assert.JSONEq(t, `{"c":3}`, string(Column{"a.b", nil}.in(rows[0]["a.b"].value)))
}

func TestShortValuesAreChosen(t *testing.T) {
	t.Parallel()
	rows := rowsOf(map[string]string{
		"last":  `7`,
		"first": `{"n":1,"yes":true,"none":null,"list":[1],"object":{},"text":"short","long":"a text that is longer than forty characters are","lines":"a\nb","a.b":1}`,
		"usage": `{"inputTokens":1}`,
	})
	var names []string
	for _, c := range shortColumns(rows) {
		names = append(names, c.String())
	}
	assert.Equal(t, []string{"first.n", "first.text", "first.yes", "last"}, names)
}

func TestManyInputsBeginWithThoseThatDiffer(t *testing.T) {
	t.Parallel()
	few := &Comparison{Runs: []*Run{{Inputs: inputsOf(json.RawMessage(`{"b":1,"a":1}`))}, {Inputs: inputsOf(json.RawMessage(`{"b": 2,"a":1}`))}}}
	few.chooseInputs()
	assert.Equal(t, []string{"a", "b"}, few.Inputs)
	assert.Zero(t, few.InputsLeft)

	base, other := make(map[string]json.RawMessage), make(map[string]json.RawMessage)
	for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
		base[string(letter)], other[string(letter)] = json.RawMessage("1"), json.RawMessage("1")
	}
	delete(other, "z")
	many := &Comparison{Runs: []*Run{{Inputs: base}, {Inputs: other}}}
	many.chooseInputs()
	assert.Equal(t, "z", many.Inputs[0])
	assert.Len(t, many.Inputs, maxInputs)
	assert.Equal(t, 26-maxInputs, many.InputsLeft)

	assert.Equal(t, map[string]json.RawMessage{"": json.RawMessage("[1]")}, inputsOf(json.RawMessage("[1]")))
	assert.Nil(t, inputsOf(nil))
}

func TestDifferentMembersAreNamed(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	assert.Empty(t, differentMembers("t", raw(`{"a": 1}`), raw(`{"a":1}`)))
	assert.Equal(t, []Difference{
		{What: DiffersOutput, Table: "t", Member: "a", From: raw("1"), To: raw("2")},
		{What: DiffersOutput, Table: "t", Member: "b", From: raw("1")},
		{What: DiffersOutput, Table: "t", Member: "c", To: raw("null")},
	}, differentMembers("t", raw(`{"a":1,"b":1}`), raw(`{"a":2,"c":null}`)))
	assert.Equal(t, []Difference{{What: DiffersOutput, Table: "t", From: raw("1"), To: raw(`{"a":1}`)}}, differentMembers("t", raw("1"), raw(`{"a":1}`)))
	assert.Equal(t, []Difference{{What: DiffersOutput, Table: "t", To: raw("1")}}, differentMembers("t", nil, raw("1")))
}

func TestTheFirstDifferentLineIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, was, is string }{
		{"one\ntwo", "one\nTWO", "two", "TWO"},
		{"one\n", "one\ntwo", "", "two"},
		{"one", "one\ntwo", "", "two"},
		{"a\xff", "b", "a\uFFFD", "b"},
	} {
		was, is := firstLine([]byte(c.a), []byte(c.b))
		assert.Equal(t, []string{c.was, c.is}, []string{was, is}, "%q, %q", c.a, c.b)
	}
}

func TestTheNumberOfRunsIsBounded(t *testing.T) {
	t.Parallel()
	var c choices
	for i := range MaxRuns {
		require.NoError(t, c.add(choice{id: string(rune('a' + i))}))
	}
	require.NoError(t, c.add(choice{id: "a"}), "it is there already")
	assert.Equal(t, fault.LimitExceeded, fault.CodeOf(c.add(choice{id: "another"})))
}
