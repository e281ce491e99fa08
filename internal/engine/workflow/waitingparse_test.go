package workflow_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const everyWait = `
name: w
outputs: {o: {type: string}}
tasks:
  - {id: a1, approval: Ship it?}
  - {id: a2, approval: {title: "Ship {input.what}?", summary: "for {run}", on_deny: skip}}
  - {id: a3, approval: {}}
  - {id: s1, wait_for: deployed}
  - {id: s2, wait_for: {signal: deployed, correlation: null, timeout: 90m, on_timeout: continue}}
  - {id: s3, wait_for: {signal: deployed, correlation: "{input.pr}"}}
  - {id: h1, human: What now?}
  - {id: h2, human: {prompt: Well?, form: {type: boolean}, timeout: 24h, on_timeout: skip}}
  - {id: h3, output: o, human: {prompt: Name?}}
  - {id: t1, timer: 10m}
  - {id: t2, timer: 2026-12-01T09:00:00Z}
  - {id: t3, timer: "2026-12-01T09:00:00.5+02:00", needs: [t2], when: input.late, label: Late, retries: 2}
`

func TestParseReadsWhatTasksWaitFor(t *testing.T) {
	t.Parallel()
	wf := parse(t, everyWait)
	task := func(i int) *workflow.Task { return wf.Tasks[i] }
	assert.Equal(t, "Ship it?", task(0).Approval.Title.Text)
	assert.Equal(t, workflow.OtherwiseFail, task(0).Approval.OnDeny)
	assert.Equal(t, "for {run}", task(1).Approval.Summary.Text)
	assert.Equal(t, workflow.OtherwiseSkip, task(1).Approval.OnDeny)
	assert.Nil(t, task(2).Approval.Title)
	assert.Equal(t, workflow.WaitFor{Signal: "deployed", AnyCorrelation: true, OnTimeout: workflow.OtherwiseFail}, *task(3).WaitFor)
	assert.Equal(t, workflow.WaitFor{Signal: "deployed", Timeout: 90 * time.Minute, OnTimeout: workflow.OtherwiseContinue}, *task(4).WaitFor)
	assert.Equal(t, "{input.pr}", task(5).WaitFor.Correlation.Text)
	assert.Equal(t, "ask", task(6).Human.Kind)
	assert.Nil(t, task(6).Human.Form)
	assert.Equal(t, "confirm", task(7).Human.Kind)
	assert.JSONEq(t, `{"type":"string"}`, string(task(8).Human.Form))
	assert.Equal(t, workflow.Timer{After: 10 * time.Minute}, *task(9).Timer)
	assert.Equal(t, "2026-12-01T09:00:00Z", task(10).Timer.Until.UTC().Format(time.RFC3339Nano))
	assert.Equal(t, "2026-12-01T07:00:00.5Z", task(11).Timer.Until.UTC().Format(time.RFC3339Nano))
	for _, task := range wf.Tasks {
		assert.Empty(t, task.Run)
	}
}

func TestParseNamesWhatIsWrongWithATaskThatWaits(t *testing.T) {
	t.Parallel()
	file := func(fields string) string {
		return "name: w\noutputs: {a: {}, b: {}}\ntasks:\n  - {id: x, " + fields + "}\n  - {id: y, output: a, run: z}\n"
	}
	for name, c := range map[string]struct{ fields, message, hint string }{
		"two kinds":         {"run: y, approval: Ok?", "task x has both run and approval", "split the task into two tasks, of which one needs the other"},
		"two kinds to wait": {"human: Ok?, timer: 1m", "task x has both human and timer", "split the task into two tasks, of which one needs the other"},
		"no kind":           {"label: y", "task x has nothing to do", "add run, or one of workflow, approval, wait_for, human, timer"},
		"a near kind":       {"waitfor: y", `a task has no key "waitfor"`, `did you mean "wait_for"?`},

		"env":                    {"approval: Ok?, env: {A: b}", "task x has approval, which does not allow env", "move env to a task that runs a command"},
		"worktree":               {"timer: 1m, worktree: true", "task x has timer, which does not allow worktree", "move worktree to a task that runs a command"},
		"timeout of a signal":    {"wait_for: p, timeout: 1m", "task x has wait_for, which does not allow timeout", "write wait_for: {timeout: …}"},
		"timeout of a question":  {"human: Ok?, timeout: 1m", "task x has human, which does not allow timeout", "write human: {timeout: …}"},
		"timeout of an approval": {"approval: Ok?, timeout: 1m", "task x has approval, which does not allow timeout", "move timeout to a task that runs a command"},

		"approval is true":    {"approval: true", `approval must be text or a mapping, not "true"`, "for example approval: Ship it?"},
		"approval is nothing": {"approval: ", "approval must be text or a mapping, not nothing", "for example approval: Ship it?"},
		"approval is a list":  {"approval: [a]", "approval must be text or a mapping, not a list", "for example approval: Ship it?"},
		"approval is empty":   {"approval: ' '", "approval is empty", ""},
		"unknown key":         {"approval: {tilte: Ok?}", `approval has no key "tilte"`, `did you mean "title"?`},
		"bad on_deny":         {"approval: {on_deny: continu}", `on_deny must be fail, continue or skip, not "continu"`, `did you mean "continue"?`},

		"no signal":                  {"wait_for: {timeout: 1m}", "wait_for has no signal", ""},
		"signal is a number":         {"wait_for: 5", `wait_for must be text or a mapping, not "5"`, "for example wait_for: deployed"},
		"bad timeout":                {"wait_for: {signal: p, timeout: 5}", `timeout is not a duration: "5"`, "write a duration like 90s, 10m or 1h30m"},
		"bad on_timeout":             {"wait_for: {signal: p, timeout: 5m, on_timeout: retry}", `on_timeout must be fail, continue or skip, not "retry"`, "use one of: fail, continue, skip"},
		"on_timeout without timeout": {"wait_for: {signal: p, on_timeout: skip}", "wait_for has on_timeout, but no timeout", "add a timeout, for example timeout: 24h"},
		"empty correlation":          {"wait_for: {signal: p, correlation: ''}", "correlation is empty", ""},

		"no prompt":        {"human: {form: {}}", "human of task x has no prompt", "for example human: {prompt: What now?}"},
		"form is no map":   {"human: {prompt: a, form: text}", `form of task x must be a JSON Schema, a mapping, not "text"`, ""},
		"form is a schema": {"human: {prompt: a, form: {type: txt}}", "form of task x is not a JSON Schema: #/type: txt is not a type; types are null, boolean, object, array, number, integer, string", ""},

		"timer is a word":           {"timer: tomorrow", `timer is neither a duration nor a time with its zone: "tomorrow"`, "for example timer: 10m, or timer: 2026-12-01T09:00:00Z"},
		"timer is a day":            {"timer: 2026-12-01", `timer is neither a duration nor a time with its zone: "2026-12-01"`, "for example timer: 10m, or timer: 2026-12-01T09:00:00Z"},
		"timer has no zone":         {"timer: 2026-12-01T09:00:00", `timer is neither a duration nor a time with its zone: "2026-12-01T09:00:00"`, "for example timer: 10m, or timer: 2026-12-01T09:00:00Z"},
		"timer is negative":         {"timer: -5m", `timer is neither a duration nor a time with its zone: "-5m"`, "for example timer: 10m, or timer: 2026-12-01T09:00:00Z"},
		"timer is before all":       {"timer: 1969-12-31T00:00:00Z", `timer is neither a duration nor a time with its zone: "1969-12-31T00:00:00Z"`, "for example timer: 10m, or timer: 2026-12-01T09:00:00Z"},
		"timer is a mapping":        {"timer: {a: b}", "timer must be text, not a mapping", ""},
		"a brace that never ends":   {"approval: 'a {input.x'", "approval: a { has no closing }: write {{ for a literal {", ""},
		"a brace that never began":  {"approval: 'a} b'", "approval: a } has no opening {: write }} for a literal }", ""},
		"an empty placeholder":      {"approval: 'a { } b'", "approval: a placeholder is empty: write {{}} for braces", ""},
		"a bad placeholder":         {"human: {prompt: 'a {1 +} b'}", "prompt: {1 +}: unexpected token EOF (1:3)", ""},
		"an unknown name":           {"approval: {summary: 'a {attempt}'}", "summary: {attempt}: unknown name attempt (1:1)", ""},
		"what it does not wait for": {"approval: 'a {outputs.a}'", "approval.title of task x reads the output of task y without waiting for it", "add y to the needs"},
		"a table nobody writes":     {"wait_for: {signal: p, correlation: 'a {outputs.b}'}", `wait_for.correlation of task x reads table "b", which no task writes`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.Parse("wf.yaml", []byte(file(c.fields)))
			assert.Equal(t, "wf.yaml:4: "+c.message, fails(t, fault.InvalidWorkflow, err))
			var e *fault.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.hint, strings.Join(e.Hints, ";"))
		})
	}
}

func TestWhatIsWrongWithATemplateIsAtItsLine(t *testing.T) {
	t.Parallel()
	_, err := workflow.Parse("wf.yaml", []byte("name: w\noutputs: {a: {}}\ntasks:\n  - id: x\n    approval:\n      summary: '{outputs.a}'\n  - {id: y, output: a, run: z}\n"))
	assert.Equal(t, "wf.yaml:6: approval.summary of task x reads the output of task y without waiting for it", fails(t, fault.InvalidWorkflow, err))
}

func TestTheRenderedTreeShowsWhatTasksWaitFor(t *testing.T) {
	t.Parallel()
	rendered, err := parse(t, everyWait).Render(func(string) bool { return false })
	require.NoError(t, err)
	child := func(tag, props string) string {
		return `{"kind":"element","tag":"smithers:` + tag + `","props":{` + props + `},"children":[]}`
	}
	assert.JSONEq(t, `{"kind":"element","tag":"smithers:workflow","props":{"name":"w"},"children":[`+strings.Join([]string{
		child("approval", `"id":"a1","approvalMode":"decision","approvalOnDeny":"fail","title":"Ship it?"`),
		child("approval", `"id":"a2","approvalMode":"decision","approvalOnDeny":"skip","title":"Ship {input.what}?","summary":"for {run}"`),
		child("approval", `"id":"a3","approvalMode":"decision","approvalOnDeny":"fail"`),
		child("wait-for-event", `"id":"s1","event":"deployed"`),
		child("wait-for-event", `"id":"s2","event":"deployed","timeoutMs":"5400000","onTimeout":"continue"`),
		child("wait-for-event", `"id":"s3","event":"deployed","correlationId":"{input.pr}"`),
		child("human-task", `"id":"h1","kind":"ask","prompt":"What now?"`),
		child("human-task", `"id":"h2","kind":"confirm","prompt":"Well?","timeoutMs":"86400000","onTimeout":"skip"`),
		child("human-task", `"id":"h3","output":"o","kind":"ask","prompt":"Name?"`),
		child("timer", `"id":"t1","duration":"10m0s"`),
		child("timer", `"id":"t2","until":"2026-12-01T09:00:00Z"`),
		child("timer", `"id":"t3","label":"Late","needs":"t2","retries":"2","until":"2026-12-01T07:00:00Z"`),
	}, ",")+`]}`, string(rendered))
}

func TestTheExamplesOfTheDocumentationParse(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../../docs/workflow.md")
	require.NoError(t, err)
	var files int
	for block := range strings.SplitSeq(string(doc), "\n\n") {
		if strings.HasPrefix(block, "    # yaml-language-server: ") {
			parse(t, strings.ReplaceAll("\n"+block+"\n", "\n    ", "\n"))
			files++
		}
	}
	assert.Equal(t, 4, files)
}
