package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

func TestASummaryIsTheFirstSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Fixed it. More to do.":         "Fixed it.",
		"Version 1.2 works! Try it":     "Version 1.2 works!",
		"\n  Is it?\nYes.":              "Is it?",
		"no end":                        "no end",
		"終わり。次":                         "終わり。",
		"Fixed a.b/c.go\n\nAnd more. x": "Fixed a.b/c.go",
		"":                              "",
		"bad \xff bytes. And":           "bad \uFFFD bytes.",
	} {
		assert.Equal(t, want, firstSentence(text))
	}
}

func TestTheWorkOfASessionIsItsTodos(t *testing.T) {
	t.Parallel()
	j := &seedJob{}
	assert.Equal(t, WorkState{[]string{}, []string{}, map[string]int{}}, j.work())
	j.todos = []Todo{{"a", false, true}, {"b", false, true}, {"c", false, false}, {"d", true, false}}
	assert.Equal(t, WorkState{[]string{"a", "b"}, []string{"a", "b", "d"}, map[string]int{"a": 0, "b": 0, "c": 0, "d": 100}}, j.work())
	j.todos = []Todo{{"c", false, true}, {"a", true, false}}
	assert.Equal(t, WorkState{[]string{"c"}, []string{"a", "b", "d", "c"}, map[string]int{"c": 0, "a": 100}}, j.work())
}

func TestTodosOfSeveralAgentsAreUnderstood(t *testing.T) {
	t.Parallel()
	todos := parseTodos([]byte(`[{"content":"a","status":"completed"},{"step":"b","status":"in_progress"},{"text":"c","completed":true},{"other":1}]`))
	assert.Equal(t, []Todo{{"a", true, false}, {"b", false, true}, {"c", true, false}}, todos)
	assert.Nil(t, parseTodos([]byte(`{"todos":[]}`)))
}

func TestMessagesHaveResultsRightBehindTheirCalls(t *testing.T) {
	t.Parallel()
	said := func(role, text string) []dialect.Saying { return []dialect.Saying{{Role: role, Text: text}} }
	call := func(id string) []dialect.Call { return []dialect.Call{{ID: id, Tool: "Bash"}} }
	result := func(id string) []dialect.Result { return []dialect.Result{{ID: id, Output: "of " + id}} }
	var j chatJob
	for _, facts := range []dialect.Facts{
		{Said: said(dialect.User, "go")},
		{Message: "m1", Said: said(dialect.Assistant, "one")},
		{Message: "m1", Begun: call("a")},
		{Ended: result("a")},
		{Message: "m1", Begun: call("b")}, // in parallel, and written later
		{Message: "m2", Begun: call("open")},
		{Ended: result("b")},
		{Ended: result("unknown")},
		{Said: said(dialect.Assistant, "without an id")},
		{Begun: call("c")},
		{Ended: result("c")},
		{Said: said(dialect.Assistant, "after a result")},
	} {
		j.take(dialect.Line{Facts: facts})
	}
	var got []string
	for _, m := range j.messages() {
		parts := []string{m.Role}
		if m.Content != nil {
			parts = append(parts, *m.Content)
		}
		for _, c := range m.Calls {
			parts = append(parts, "+"+c.ID+c.Function.Arguments)
		}
		got = append(got, strings.Join(append(parts, m.CallID), ":"))
	}
	assert.Equal(t, []string{
		"user:go:", "assistant:one:+a{}:+b{}:", "tool:of a:a", "tool:of b:b",
		"assistant:without an id:+c{}:", "tool:of c:c", "assistant:after a result:",
	}, got)
}
