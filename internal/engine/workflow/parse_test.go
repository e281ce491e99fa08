package workflow_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const triage = `name: triage
input: {type: object, required: [ticket], properties: {ticket: {type: string}}}        # JSON Schema
outputs:
  analysis: {type: object, required: [summary, severity], properties: {summary: {type: string}, severity: {enum: [low, medium, high]}}}
  patch: {type: object}
  verdict: {type: object, required: [approved], properties: {approved: {type: boolean}}}
tasks:
  - {id: analyze, output: analysis, run: ./agents/analyze.sh}
  - {id: fix, needs: [analyze], output: patch, run: ./agents/fix.sh, retries: 2, timeout: 10m, when: outputs.analysis.severity != "low"}
  - loop: review
    until: outputs.verdict.approved
    max: 5
    tasks:
      - {id: check, needs: [fix], output: verdict, run: ./agents/check.sh}
`

func TestParseReadsEveryKey(t *testing.T) {
	t.Parallel()
	wf := parse(t, triage)
	assert.Equal(t, "triage", wf.Name)
	require.Len(t, wf.Tasks, 3)
	fix := wf.Tasks[1]
	assert.Equal(t, []string{"analyze"}, fix.Needs)
	assert.Equal(t, 2, fix.Retries)
	assert.Equal(t, 10*time.Minute, fix.Timeout)
	assert.Equal(t, `outputs.analysis.severity != "low"`, fix.When)
	require.Len(t, wf.Loops, 1)
	assert.Equal(t, 5, wf.Loops[0].Max)
	assert.Equal(t, "review", wf.Tasks[2].Loop)
	def := wf.Snapshot()
	assert.Equal(t, triage, string(def.Definition))
	assert.JSONEq(t, `{"type":"object"}`, string(def.Schemas["patch"]))
}

func TestParseFollowsAliases(t *testing.T) {
	t.Parallel()
	wf := parse(t, `
name: w
outputs:
  a: &shape {type: object, required: [n]}
  b: *shape
tasks:
  - {id: t, run: "true"}
`)
	assert.JSONEq(t, `{"type":"object","required":["n"]}`, string(wf.Snapshot().Schemas["b"]))
}

func TestParseKeepsNumbersOfSchemasExact(t *testing.T) {
	t.Parallel()
	wf := parse(t, "name: w\noutputs: {a: {minimum: 0x10, maximum: 1_000, default: 20, multipleOf: 0.5}}\ntasks: [{id: t, run: x}]\n")
	assert.Equal(t, `{"default":20,"maximum":1000,"minimum":16,"multipleOf":0.5}`, string(wf.Snapshot().Schemas["a"]))
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	task := func(fields string) string { return "name: w\noutputs: {a: {}, b: {}}\ntasks:\n  - {" + fields + "}\n" }
	for name, c := range map[string]struct{ file, message, hint string }{
		"no YAML":         {"name: [w\n", "wf.yaml:2: not valid YAML: did not find expected ',' or ']'", ""},
		"unknown anchor":  {"name: *w\n", "wf.yaml:1: not valid YAML: unknown anchor 'w' referenced", ""},
		"empty file":      {"# nothing\n", "wf.yaml: the file is empty", `a workflow has at least a name and tasks: begin with "name: hello" and "tasks:", and list the tasks under "tasks:"`},
		"two documents":   {"name: w\n---\nname: v\n", "wf.yaml:2: the file has a second YAML document", "put each workflow into a file of its own"},
		"a list":          {"- name: w\n", "wf.yaml:1: the workflow must be a mapping, not a list", `a workflow has at least a name and tasks: begin with "name: hello" and "tasks:", and list the tasks under "tasks:"`},
		"a tab":           {"name: w\ntasks:\n\t- {id: a, run: 'true'}\n", "wf.yaml:3: not valid YAML: found character that cannot start any token", "indent with spaces: YAML allows no tabs there"},
		"a tab in a text": {"name: w\ntasks: [\"a\tb\n", "wf.yaml:3: not valid YAML: found unexpected end of stream", ""},
		"unknown key":     {"name: w\ntask: []\n", `wf.yaml:2: the workflow has no key "task"`, `did you mean "tasks"?`},
		"far unknown key": {"name: w\nzzz: 1\n", `wf.yaml:2: the workflow has no key "zzz"`, "use one of: name, input, outputs, worktree, scorers, sandbox, env, defaults, tasks"},
		"key twice":       {"name: w\nname: v\n", `wf.yaml:2: the workflow has the key "name" twice`, ""},
		"list as key":     {"? [a]\n: b\n", "wf.yaml:1: a key of the workflow must be plain text", ""},
		"no name":         {"tasks: []\n", "wf.yaml:1: the workflow has no name", ""},
		"empty name":      {"name: ''\n", "wf.yaml:1: name is empty", ""},
		"no tasks":        {"name: w\n", "wf.yaml:1: the workflow has no tasks", "add a task under tasks:, such as - {id: greet, run: echo hello}"},
		"tasks: []":       {"name: w\ntasks: []\n", "wf.yaml:2: the workflow has no tasks", "add a task under tasks:, such as - {id: greet, run: echo hello}"},
		"tasks no list":   {"name: w\ntasks: {a: 1}\n", "wf.yaml:2: tasks must be a list, not a mapping", "begin each task with - and its id, such as - {id: build, run: make}"},

		"unknown key of a task": {task("id: x, run: y, need: [a]"), `wf.yaml:4: a task has no key "need"`, `did you mean "needs"?`},
		"no id":                 {task("run: y"), "wf.yaml:4: a task has no id", ""},
		"bad id":                {task("id: a b, run: y"), `wf.yaml:4: id "a b" has an invalid character or is too long`, "use at most 100 letters, digits and _ . -, and do not begin with . or -"},
		"no run":                {task("id: x"), "wf.yaml:4: task x has nothing to do", "add run, or one of workflow, approval, wait_for, human, timer"},
		"run is a list":         {task("id: x, run: [a]"), "wf.yaml:4: run must be text, not a list", ""},
		"undeclared table":      {task("id: x, run: y, output: c"), `wf.yaml:4: task x writes to table "c", which is not under outputs`, "use one of: a, b"},
		"bad retries":           {task("id: x, run: y, retries: many"), `wf.yaml:4: retries must be a whole number from 0 to 100, not "many"`, ""},
		"no max of retries":     {task("id: x, run: y, retries: {backoff: 1s}"), `wf.yaml:4: retries has no max`, "write retries: {max: 3, backoff: 1s}"},
		"bad backoff":           {task("id: x, run: y, retries: {max: 1, backoff: 5}"), `wf.yaml:4: backoff is not a duration: "5"`, "write a duration like 90s, 10m or 1h30m"},
		"long backoff":          {task("id: x, run: y, retries: {max: 1, backoff: 1h}"), `wf.yaml:4: backoff must be at most 5m0s, not 1h0m0s`, ""},
		"bad jitter":            {task("id: x, run: y, retries: {max: 1, backoff: 1s, jitter: 25%}"), `wf.yaml:4: jitter must be a number from 0 to 1, not "25%"`, ""},
		"jitter alone":          {task("id: x, run: y, retries: {max: 1, jitter: 0.5}"), `wf.yaml:4: jitter needs a backoff`, ""},
		"unknown retries key":   {task("id: x, run: y, retries: {max: 1, delay: 1s}"), `wf.yaml:4: retries has no key "delay"`, "use one of: max, backoff, jitter"},
		"negative retries":      {task("id: x, run: y, retries: -1"), `wf.yaml:4: retries must be a whole number from 0 to 100, not "-1"`, ""},
		"bad timeout":           {task("id: x, run: y, timeout: 10"), `wf.yaml:4: timeout is not a duration: "10"`, "write a duration like 90s, 10m or 1h30m"},
		"no timeout at all":     {task("id: x, run: y, timeout: 0s"), `wf.yaml:4: timeout is not a duration: "0s"`, "write a duration like 90s, 10m or 1h30m"},
		"tag as condition":      {task("id: x, run: y, when: !done"), `wf.yaml:4: when has the YAML tag "!done"`, "put a value that begins with ! in quotes"},
		"bad variable":          {task("id: x, run: y, env: {A-B: c}"), `wf.yaml:4: "A-B" is not the name of an environment variable`, ""},
		"our variable":          {task("id: x, run: y, env: {SMITHERS_RUN_ID: c}"), "wf.yaml:4: env cannot set SMITHERS_RUN_ID: git-smithers reserves the names that begin with SMITHERS_", "choose a name that does not begin with SMITHERS_"},
		"id twice":              {"name: w\ntasks:\n  - {id: x, run: y}\n  - {id: x, run: z}\n", `wf.yaml:4: the id "x" is already used in line 3`, "give every task and every loop an id of its own"},

		"unknown need":          {task("id: fix, run: y, needs: [fxi]"), `wf.yaml:4: task fix needs "fxi", which is neither a task nor a loop`, `did you mean "fix"?`},
		"needs itself":          {task("id: x, run: y, needs: [x]"), "wf.yaml:4: the needs form a cycle: x -> x", "remove one of these needs"},
		"cycle":                 {"name: w\ntasks:\n  - {id: a, run: y, needs: [b]}\n  - {id: b, run: y, needs: [c]}\n  - {id: c, run: y, needs: [b]}\n", "wf.yaml:3: the needs form a cycle: b -> c -> b", "remove one of these needs"},
		"cycle through a loop":  {"name: w\ntasks:\n  - {id: a, run: y, needs: [l]}\n  - {loop: l, until: 'true', max: 1, tasks: [{id: b, run: y, needs: [a]}]}\n", "wf.yaml:3: the needs form a cycle: a -> l -> b -> a", "remove one of these needs"},
		"needs its own loop":    {"name: w\ntasks:\n  - {loop: l, until: 'true', max: 1, tasks: [{id: b, run: y, needs: [l]}]}\n", "wf.yaml:3: task b needs loop l, which contains the task", "name tasks of the loop instead of the loop itself"},
		"unknown key of a loop": {"name: w\ntasks:\n  - {loop: l, until_: 'true', max: 1, tasks: []}\n", `wf.yaml:3: a loop has no key "until_"`, `did you mean "until"?`},
		"loop without until":    {"name: w\ntasks:\n  - {loop: l, max: 1, tasks: []}\n", "wf.yaml:3: loop l has no until", ""},
		"loop without max":      {"name: w\ntasks:\n  - {loop: l, until: 'true', tasks: []}\n", "wf.yaml:3: loop l has no max", "add the maximum number of iterations, for example max: 5"},
		"loop without tasks":    {"name: w\ntasks:\n  - {loop: l, until: 'true', max: 2}\n", "wf.yaml:3: loop l has no tasks", ""},
		"bad on_max":            {"name: w\ntasks:\n  - {loop: l, until: 'true', max: 2, on_max: finsh, tasks: []}\n", `wf.yaml:3: on_max must be fail or finish, not "finsh"`, `did you mean "finish"?`},

		"schema no mapping":                {"name: w\ninput: string\ntasks: []\n", `wf.yaml:2: input must be a JSON Schema, a mapping, not "string"`, ""},
		"unknown type":                     {"name: w\noutputs:\n  a: {properties: {n: {type: objekt}}}\ntasks: []\n", "wf.yaml:3: outputs.a is not a JSON Schema: #/properties/n/type: objekt is not a type; types are null, boolean, object, array, number, integer, string", ""},
		"remote reference":                 {"name: w\noutputs:\n  a: {$ref: 'http://x/y'}\ntasks: []\n", `wf.yaml:3: outputs.a is not a JSON Schema: #/$ref: http://x/y must point into the schema itself, like "#/$defs/name"`, ""},
		"dangling reference":               {"name: w\noutputs:\n  a: {$ref: '#/$defs/y'}\ntasks: []\n", `wf.yaml:3: outputs.a is not a JSON Schema: JSON Pointer "/$defs/y": no key "y" in map`, ""},
		"circular reference":               {"name: w\noutputs:\n  a: {allOf: [{$ref: '#'}]}\ntasks: []\n", "wf.yaml:3: outputs.a is not a JSON Schema: $ref is circular at #", ""},
		"inexact number":                   {"name: w\noutputs:\n  a: {const: 9007199254740993}\ntasks: []\n", "wf.yaml:3: outputs.a is not a JSON Schema: #/const: 9007199254740993 is too large to be compared exactly", ""},
		"bad pattern":                      {"name: w\noutputs:\n  a: {pattern: '('}\ntasks: []\n", "wf.yaml:3: outputs.a is not a JSON Schema: pattern: error parsing regexp: missing closing ): `(`", ""},
		"no JSON value":                    {"name: w\noutputs:\n  a: {default: .nan}\ntasks: []\n", `wf.yaml:3: ".nan" is not a JSON value`, ""},
		"bad table name":                   {"name: w\noutputs: {a.b: {}}\ntasks: []\n", `wf.yaml:2: "a.b" cannot be the name of a table`, "use at most 100 letters, digits, _ and -"},
		"merge of a text":                  {"name: w\noutputs: {a: &a x, b: {<<: *a}}\ntasks: []\n", "wf.yaml:2: << must be a mapping or a list of mappings, not \"x\"", "name a mapping: <<: *name, with &name at the mapping"},
		"schema refers to itself by alias": {"name: w\noutputs: {a: &a {not: *a}}\ntasks: []\n", "wf.yaml:2: nested more than 100 levels deep", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wf, err := workflow.Parse("wf.yaml", []byte(c.file))
			assert.Nil(t, wf)
			assert.Equal(t, c.message, fails(t, fault.InvalidWorkflow, err))
			var e *fault.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.hint, strings.Join(e.Hints, ";"))
		})
	}
}

func TestParseRefusesConditionsThatCouldNotWork(t *testing.T) {
	t.Parallel()
	const file = `name: w
outputs: {one: {}, two: {}, none: {}}
tasks:
  - {id: a, run: x, output: one}
  - {id: b, run: x, output: two}
  - {id: c, run: x, output: two}
  - {id: t, run: x, needs: [a, b], when: '%s'}
`
	for name, c := range map[string]struct{ condition, message, hint string }{
		"syntax":                  {`1 +`, ": unexpected token EOF (1:3)", ""},
		"unknown name":            {`severity == "low"`, ": unknown name severity (1:1)", ""},
		"iteration without loop":  {`iteration > 1`, ": unknown name iteration (1:1)", "use iteration only in a loop"},
		"no boolean":              {`"text"`, ": expected bool, but got string", ""},
		"the clock":               {`now() > 1`, ": unknown name now (1:1)", ""},
		"undeclared table":        {`outputs.on.x`, ` reads table "on", which is not under outputs`, `did you mean "one"?`},
		"table nobody writes":     {`outputs.none.x`, ` reads table "none", which no task writes`, ""},
		"table of two writers":    {`outputs.two.x`, " reads outputs.two, which tasks b and c write", "name the task, for example output('two', 'b')"},
		"task of another table":   {`output("two", "a").x`, " reads output('two', 'a'), but the task does not write table two", ""},
		"task that is not needed": {`output("two", "c").x`, " reads the output of task c without waiting for it", "add c to the needs"},
		"output without a task":   {`output("two").x`, ": output takes two texts, as in output('verdict', 'check')", ""},
		"output of a variable":    {`output("two", input.n).x`, ": output takes two texts, as in output('verdict', 'check')", ""},
		"output uncalled":         {`[output] == 1`, ": output takes two texts, as in output('verdict', 'check')", ""},
		"outputs of a variable":   {`outputs[input.table].x`, ": outputs must be followed by the name of a table, as in outputs.verdict", ""},
		"outputs as a whole":      {`len(outputs) > 1`, ": outputs must be followed by the name of a table, as in outputs.verdict", ""},
		"length":                  {strings.Repeat("x", 5000), ": longer than 4096 bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse("wf.yaml", []byte(strings.Replace(file, "%s", c.condition, 1)))
			assert.Equal(t, "wf.yaml:7: when of task t"+c.message, fails(t, fault.InvalidWorkflow, err))
			var e *fault.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.hint, strings.Join(e.Hints, ";"))
		})
	}
}

// parse reads a sound workflow file.
func parse(t *testing.T, file string) *workflow.Workflow {
	t.Helper()
	wf, err := workflow.Parse("wf.yaml", []byte(file))
	require.NoError(t, err)
	return wf
}

// fails asserts that err has the code, and returns its message.
func fails(t *testing.T, code fault.Code, err error) string {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, fault.CodeOf(err), "%v", err)
	return err.Error()
}

// parseError returns the error of a flawed file.
func parseError(t *testing.T, file string) *fault.Error {
	t.Helper()
	_, err := workflow.Parse("wf.yaml", []byte(file))
	var e *fault.Error
	require.ErrorAs(t, err, &e)
	return e
}

func TestParseBoundsTheFile(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("name: w\noutputs:\n  a: &a {enum: [x,x,x,x,x,x,x,x,x,x]}\n")
	for i := range 8 {
		prev, next := string(rune('a'+i)), string(rune('b'+i))
		bomb.WriteString("  " + next + ": &" + next + " {allOf: [" + strings.TrimSuffix(strings.Repeat("*"+prev+",", 10), ",") + "]}\n")
	}
	for name, c := range map[string]struct{ file, message string }{
		"size":    {"name: w\n#" + strings.Repeat("x", 1<<20), "wf.yaml: the file is larger than 1048576 bytes"},
		"aliases": {bomb.String() + "tasks: []\n", "the file has more than 100000 values"},
		"nesting": {"name: w\noutputs: {a: " + strings.Repeat("{not: ", 200) + "{}" + strings.Repeat("}", 200) + "}\ntasks: []\n", "nested more than 100 levels deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse("wf.yaml", []byte(c.file))
			assert.Contains(t, fails(t, fault.InvalidWorkflow, err), c.message)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(triage)
	f.Add("name: w\ntasks: [{id: a, run: b, when: output('x','y') ?? true}]")
	f.Add(everyWait)
	f.Add("name: w\noutputs: {a: {$defs: {b: {$ref: '#'}}}}\ntasks: [{id: a, run: b, output: a}]")
	f.Add("name: w\nx-a: &a {retries: 1}\ntasks: [{<<: *a, id: a, run: b}, &l {id: c, run: d, env: {<<: [*l, *a]}}]")
	f.Add("name: w\ntasks: [{id: a, workflow: b/c.yaml, with: {x: input.y}}, {loop: l, until: 'true', max: 2, tasks: [{loop: m, until: 'true', max: 2, tasks: [{id: d, run: x, matrix: {k: [1, 2]}}]}]}]\n--- # workflow: b/c.yaml\nname: c\ntasks: [{id: e, workflow: d.yaml}]\n--- # workflow: b/d.yaml\nname: d\ntasks: [{id: f, run: y}]\n--- # workflow: unused\n")
	if more, err := os.ReadFile("../../../testdata/workflow.yaml"); err == nil {
		f.Add(string(more))
	}
	f.Fuzz(func(t *testing.T, file string) {
		wf, err := workflow.Parse("wf.yaml", []byte(file))
		if err != nil {
			assert.Nil(t, wf)
			var e *fault.Error
			assert.ErrorAs(t, err, &e)
			return
		}
		definition := wf.Snapshot().Definition
		if !strings.Contains(file, "\n--- # workflow: ") {
			assert.Equal(t, file, string(definition))
		}
		again, err := workflow.Parse("wf.yaml", definition) // without files that nothing calls
		require.NoError(t, err)
		assert.Equal(t, string(definition), string(again.Snapshot().Definition))
		_, err = engine.Initial("r", wf, nil, time.UnixMilli(1))
		if err != nil {
			assert.Equal(t, fault.InvalidInput, fault.CodeOf(err))
		}
	})
}
