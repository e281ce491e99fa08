package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
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

// changed returns the lines of the question about now after was.
func changed(t *testing.T, was, now string) []string {
	t.Helper()
	parse := func(text string) *workflow.Workflow {
		wf, err := workflow.Stored("flow.yaml", []byte(text))
		require.NoError(t, err)
		return wf
	}
	return Commands{Workflow: parse(now), Known: parse(was), Input: json.RawMessage(`{"a":"x"}`)}.Lines()
}

// A change that lets a command start by itself counts as a new command.
func TestConsentShowsWhatCommandsWaitForNoMore(t *testing.T) {
	t.Parallel()
	const flow = `name: flow
tasks:
  - {id: ask, approval: "Go?"}
  - {id: which, needs: [ask], human: {prompt: "Which?", timeout: 1h}}
  - {id: rest, needs: [which], timer: 1m}
  - {id: sig, needs: [rest], wait_for: go}
  - {id: mid, needs: [sig], run: "true"}
  - {id: call, needs: [ask], workflow: sub.yaml}
  - {id: cells, needs: [mid], matrix: {a: [x, y]}, run: "true"}
  - {id: ship, needs: [cells, call], when: "input.go == true", run: "true"}
--- # workflow: sub.yaml
name: sub
tasks:
  - {id: inner, approval: "In?"}
  - {id: work, needs: [inner], run: "true"}
`
	input := "input a: x"
	for name, c := range map[string]struct {
		change []string
		want   []string
	}{
		"nothing":       {[]string{"Go?", "Really?"}, nil},
		"a gate more":   {[]string{`needs: [cells, call], when`, `needs: [cells, call, sig], when`}, nil},
		"an edge":       {[]string{"needs: [ask], workflow", "workflow"}, []string{"call: no longer waits for ask (approval)", input}},
		"a timer":       {[]string{"timer: 1m", `run: "true"`}, []string{"rest: true", "mid: no longer waits for rest (timer)", "cells: no longer waits for rest (timer)", "ship: no longer waits for rest (timer)", input}},
		"a no":          {[]string{`approval: "In?"`, `approval: {title: "In?", on_deny: continue}`}, []string{"ship: no longer waits for sub.yaml: inner (approval)", "sub.yaml: work: no longer waits for inner (approval)", input}},
		"a timeout":     {[]string{"timeout: 1h", "timeout: 1s, on_timeout: skip"}, []string{"mid: no longer waits for which (human)", "cells: no longer waits for which (human)", "ship: no longer waits for which (human)", input}},
		"a skip":        {[]string{"wait_for: go", `wait_for: go, when: "false"`}, []string{"mid: no longer waits for sig (event)", "cells: no longer waits for sig (event)", "ship: no longer waits for sig (event)", input}},
		"a condition":   {[]string{`when: "input.go == true", `, ""}, []string{"ship: no longer runs only when input.go == true", input}},
		"a failure":     {[]string{`when: "input.go == true"`, `when: "always()"`}, []string{"ship: no longer runs only when input.go == true", "ship: no longer stays when something before it fails", input}},
		"a called gate": {[]string{"  - {id: inner, approval: \"In?\"}\n", "", "needs: [inner], ", ""}, []string{"ship: no longer waits for sub.yaml: inner (approval)", "sub.yaml: work: no longer waits for inner (approval)", input}},
	} {
		now := strings.NewReplacer(c.change...).Replace(flow)
		require.NotEqual(t, flow, now, name)
		assert.Equal(t, c.want, changed(t, flow, now), name)
	}
}

// What a file gives where an input or an answer has nothing reaches commands as these do.
func TestConsentShowsDefaults(t *testing.T) {
	t.Parallel()
	const was = "name: flow\ntasks:\n  - {id: one, run: cat}\n"
	const now = `name: flow
input: {properties: {a: {default: own}, b: {default: "touch b"}}}
tasks:
  - {id: one, run: cat}
  - {id: ask, human: {prompt: "Go?", form: {type: object, properties: {how: {default: "touch how\nor"}}}}, output: how}
  - {id: call, workflow: sub.yaml}
outputs: {how: {type: object}}
--- # workflow: sub.yaml
name: sub
input: {properties: {run: {default: touch run}, in: {properties: {"": {default: [1]}, "de.ep": {default: {x: 1}, properties: {y: {default: "\e"}}}}}}}
tasks:
  - {id: work, run: cat}
`
	assert.Equal(t, []string{
		"ask: form default how: touch how", "ask: form default how: or",
		"sub.yaml: work: cat",
		`sub.yaml: input default in.: [1]`, `sub.yaml: input default in.de.ep: {"x":1}`, `sub.yaml: input default in.de.ep.y: \x1b`, "sub.yaml: input default run: touch run",
		"input a: x", "input b: touch b",
	}, changed(t, was, now))
	wf, err := workflow.Stored("flow.yaml", []byte("name: flow\ntasks: [{id: one, run: \"false\\ntouch on\"}]\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"one: goes on after a line that fails", "one: false", "one: touch on"}, Commands{Workflow: wf}.Lines())
	assert.Contains(t, changed(t, now, strings.Replace(now, "touch run", "touch other", 1)), "sub.yaml: input default run: touch other")
}
