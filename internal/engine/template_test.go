package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestPlaceholdersAreFilledIn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ template, text string }{
		"nothing":        {`plain`, "plain"},
		"text":           {`a {input.text} c`, "a b c"},
		"braces":         {`{{input.text}} }}{{`, "{input.text} }{"},
		"a number":       {`{input.n}`, "9007199254740993"},
		"a fraction":     {`{input.f}`, "0.5"},
		"a boolean":      {`{input.yes}`, "true"},
		"null":           {`a{input.none}b{input.none.deeper}c`, "abc"},
		"a sum":          {`{input.n - 9007199254740990}`, "3"},
		"who it is":      {`{run} {task} {iteration}`, "r ask 0"},
		"an output":      {`{outputs.o.list[1]} {output('o', 'first').word}`, `2 <&> "w"`},
		"a brace inside": {`{ {"a": 1}.a }{"}"}{'{'}` + "{`}`}", "1}{}"},
		"a quote inside": {`{"\"}"}{'\'}'}`, `"}'}`},
		"a choice":       {`{input.yes ? "so" : {}}`, "so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `
name: w
outputs: {o: {}}
tasks:
  - {id: first, output: o, run: 'printf "%s" ''{"list":[1,2],"word":"<&> \"w\""}'''}
  - id: ask
    needs: [first]
    human:
      prompt: |-
        `+c.template+"\n", `{"text":"b","n":9007199254740993,"f":0.5,"yes":true,"none":null}`)
			s.waits(snapshot.RunWaitingHuman)
			assert.Equal(t, c.text, s.request("ask::0").Prompt)
		})
	}
}

func TestATextThatCannotBeMadeFailsTheAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ wait, message string }{
		"an object":         {`approval: {title: "a {input}"}`, `approval.title: the value of {input} is a mapping, not text`},
		"a list":            {`human: "{[1]}"`, `human.prompt: the value of {[1]} is a list, not text`},
		"a failing one":     {`approval: {summary: "{input.t < 1}"}`, `approval.summary: invalid operation: string < int (1:9)`},
		"no number":         {`human: "{1/0}"`, `human.prompt: the value of {1/0} is +Inf, not a number`},
		"half a character":  {`human: "{input.half[0:1]}"`, "human.prompt: not valid UTF-8"},
		"no title":          {`approval: "{input.none}"`, `approval.title is empty`},
		"no prompt":         {`human: "{input.none}"`, `human.prompt is empty`},
		"no correlation":    {`wait_for: {signal: p, correlation: "{input.none}"}`, `wait_for.correlation is empty`},
		"more than fits":    {`human: "{repeat(\"x\", 65000)}{repeat(\"x\", 1000)}"`, "human.prompt: longer than 65536 bytes"},
		"more than is good": {`human: "{repeat(\"x\", 10000000)}"`, "human.prompt: memory budget exceeded (1:1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, tasks: [{id: x, retries: 1, `+c.wait+`}]}`, `{"t":"x","half":"é"}`)
			_, err := s.run()
			assert.Contains(t, fails(t, fault.RunFailed, err), "run r failed: x: ")
			a := s.attempts()
			require.Len(t, a, 2, "as many as for every failure")
			assert.Equal(t, "template: "+c.message, a["x::0::1"].Error)
			assert.Equal(t, snapshot.AttemptFailed, a["x::0::2"].State)
			state, err := s.tip().State()
			require.NoError(t, err)
			assert.Zero(t, state.Approvals().Len()+state.HumanRequests().Len()+state.Waits().Len())
		})
	}
}

func TestATemplateMayReadTheIterationBefore(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {note: {}, o: {}}
tasks:
  - loop: l
    until: iteration == 1
    max: 2
    tasks:
      - {id: ask, output: o, human: "before: {outputs.note}"}
      - {id: write, output: note, needs: [ask], run: 'echo "\"n$SMITHERS_ITERATION\""'}
`, "")
	s.waits(snapshot.RunWaitingHuman)
	assert.Equal(t, "before: ", s.request("ask::0").Prompt)
	_, err := s.answer("ask", `"x"`)
	require.NoError(t, err)
	s.waits(snapshot.RunWaitingHuman)
	assert.Equal(t, "before: n0", s.request("ask::1").Prompt)
}

func TestADefaultTitleIsTheLabelOrTheID(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: one, label: The one, approval: {}}, {id: two, approval: {summary: s}}]}`, "")
	s.waits(snapshot.RunWaitingApproval)
	assert.Equal(t, "The one", s.approval("one::0").Title)
	assert.Equal(t, "two", s.approval("two::0").Title)
	assert.Equal(t, "s", s.approval("two::0").Summary)
}
