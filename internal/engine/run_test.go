package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/snapshot"
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

func TestRunCommitsAFrameAfterEveryChangeOfState(t *testing.T) {
	t.Parallel()
	s := newScratch(t, triage, `{"ticket":"T-12"}`)
	s.file("analyze.sh", "")
	for name, script := range map[string]string{
		"analyze.sh": `echo '{"summary": "s", "severity": "high"}'`,
		"fix.sh":     `test -e tried && echo '{"lines": 12345678901234567890}' || { touch tried; echo oops >&2; exit 3; }`,
		"check.sh":   `test "$SMITHERS_ITERATION" = 1 && echo '{"approved":true}' || echo '{"approved":false}'`,
	} {
		s.file(name, "#!/bin/sh\n"+script+"\n")
	}
	s.wf = parse(t, strings.ReplaceAll(triage, "./agents/", "./"))
	s.opts.AcceptWorkflowChange = true

	result, err := s.run()

	require.NoError(t, err)
	assert.False(t, result.Nothing)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Equal(t, int64(len(s.entries)-1), result.Run.Frame)
	assert.Equal(t, []string{
		"triage changed",
		"analyze started",
		"analyze finished",
		"fix started",
		"fix failed (attempt 1 of 3): exit status 3",
		"fix started (attempt 2 of 3)",
		"fix finished",
		"check::0 started",
		"check::0 finished",
		"review begins iteration 1",
		"check::1 started",
		"check::1 finished",
		"review done after 2 iterations",
		"run finished",
	}, s.subjects())
	assert.Equal(t, map[string]snapshot.NodeState{
		"analyze::0": snapshot.NodeFinished, "fix::0": snapshot.NodeFinished,
		"check::0": snapshot.NodeFinished, "check::1": snapshot.NodeFinished,
	}, s.states())
	assert.Equal(t, map[string]string{"fix::0": `{"lines": 12345678901234567890}`}, s.outputs("patch"))
	assert.Equal(t, "oops\n", s.log("fix::0::1"))
	assert.Equal(t, []string{
		"NodePending", "NodePending", "NodePending",
		"RunStarted", "RunStatusChanged", "NodeStarted", "NodeFinished",
		"NodeStarted", "NodeFailed", "NodeRetrying", "NodeStarted", "NodeFinished",
		"NodeStarted", "NodeFinished", "NodePending", "NodeStarted", "NodeFinished",
		"RunStatusChanged", "RunFinished",
	}, s.events())
}

func TestRunRendersSmithersShape(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {t: {}}
tasks:
  - {id: a, run: "echo 1", output: t, label: The A, retries: 1, timeout: 1m}
  - {loop: l, until: "output('t', 'a') == 1", max: 3, tasks: [{id: b, run: "true", needs: [a]}]}
`, "")
	const before = `{"kind":"element","tag":"smithers:workflow","props":{"name":"w"},"children":[` +
		`{"kind":"element","tag":"smithers:task","props":{"id":"a","label":"The A","output":"t","retries":"1","timeoutMs":"60000"},"children":[]},` +
		`{"kind":"element","tag":"smithers:ralph","props":{"id":"l","maxIterations":"3","until":"false"},"children":[` +
		`{"kind":"element","tag":"smithers:task","props":{"id":"b","needs":"a"},"children":[]}]}]}`
	rendered := func(i int) string {
		text, err := s.frames.Rendered(&s.objects, s.entries[i])
		require.NoError(t, err)
		return string(text)
	}
	assert.JSONEq(t, before, rendered(0))
	_, err := s.run()
	require.NoError(t, err)
	assert.JSONEq(t, before, rendered(4), "the loop is not done")
	assert.JSONEq(t, strings.Replace(before, `"until":"false"`, `"until":"true"`, 1), rendered(len(s.entries)-1))
}

func TestACommandReadsItsContextOnStdin(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {t: {}, u: {}}
tasks:
  - {id: a, run: "echo '{\"n\": 9007199254740993, \"html\": \"<&>\"}'", output: t}
  - {id: b, run: "echo 2", output: u}
  - {id: c, run: "echo 3", output: u}
  - {id: none, run: "true"}
  - loop: l
    until: iteration == 1
    max: 2
    tasks:
      - {id: d, needs: [a, b, c, none], output: t, retries: 1, run: 'cat > ctx-$SMITHERS_ITERATION-$SMITHERS_ATTEMPT; env | grep ^SMITHERS_ | sort > env; test $SMITHERS_ATTEMPT = 2 && echo "$SMITHERS_ITERATION"', env: {EXTRA: 1}}
  - {id: e, needs: [l], run: 'cat > ctx-e'}
`, `{ "x": 1.0 }`)
	_, err := s.run()
	require.NoError(t, err)
	assert.JSONEq(t, `{"run":"r","node":"d","iteration":0,"attempt":1,"loop":"l","previousError":null,"input":{"x":1.0},
		"outputs":{"t":{"n":9007199254740993,"html":"<&>"}},
		"needs":{"a":{"n":9007199254740993,"html":"<&>"},"b":2,"c":3}}`, s.read("ctx-0-1"))
	assert.Contains(t, s.read("ctx-0-1"), `{"n":9007199254740993,"html":"<&>"}`, "numbers and characters are the task's own")
	var second struct {
		PreviousError string                     `json:"previousError"`
		Previous      map[string]json.RawMessage `json:"previous"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.read("ctx-1-2")), &second))
	assert.Equal(t, "exit_status: exit status 1", second.PreviousError)
	assert.Equal(t, map[string]json.RawMessage{"d": json.RawMessage("0")}, second.Previous)
	assert.Equal(t, "SMITHERS_ATTEMPT=2\nSMITHERS_ITERATION=1\nSMITHERS_MODEL=\nSMITHERS_NODE_ID=d\nSMITHERS_OUTPUT=\nSMITHERS_OUTPUT_TABLE=t\nSMITHERS_RUN_ID=r\nSMITHERS_SIGNALS=\nSMITHERS_TOOLS=\nSMITHERS_USAGE=\n", s.read("env"))
	var last struct{ Outputs map[string]any }
	require.NoError(t, json.Unmarshal([]byte(s.read("ctx-e")), &last))
	assert.Equal(t, map[string]any{"t": 1.0}, last.Outputs, "the newest iteration of the loop's task")
}

func TestTasksDoNotSeeWhereGitWasToldTheRepositoryIs(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'env > env', env: {OWN: "1", PATH2: x}}]}`, "")
	s.opts.Env = append(s.opts.Env, "GIT_DIR=/elsewhere", "GIT_WORK_TREE=/elsewhere", "GIT_INDEX_FILE=i", "GIT_PREFIX=p/", "GIT_CONFIG_COUNT=0")
	_, err := s.run()
	require.NoError(t, err)
	env := s.read("env")
	for _, name := range []string{"GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_PREFIX="} {
		assert.NotContains(t, env, name)
	}
	assert.Contains(t, env, "GIT_CONFIG_COUNT=0\n", "what the user configured for git is kept")
	assert.Contains(t, env, "OWN=1\n")
}

func TestIndependentTasksRunSideBySide(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: a, run: 'echo hello > ab; read word < ba'}
  - {id: b, run: 'read word < ab; echo hello > ba'}
`, "")
	s.fifo("ab", "ba")
	_, err := s.run()
	require.NoError(t, err, "each waits for the other")
	assert.Equal(t, "a, b started", s.subjects()[0])
}

func TestNoMoreCommandsRunAtOnceThanAllowed(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("name: w\ntasks:\n")
	for id := range strings.SplitSeq("abcdefgh", "") {
		file.WriteString("  - {id: " + id + ", run: 'for s in 1 2; do mkdir slot$s 2>&- && { ls >&- || true; rmdir slot$s; exit 0; }; done; exit 9'}\n")
	}
	s := newScratch(t, file.String(), "")
	s.opts.MaxParallel = 2
	_, err := s.run()
	require.NoError(t, err, "a third command would find no slot free")
	for _, e := range s.entries {
		running := 0
		for _, state := range statesOf(t, e) {
			if state == snapshot.NodeInProgress {
				running++
			}
		}
		assert.LessOrEqual(t, running, 2, e.Subject)
	}
}

func TestASkippedTaskCountsAsDoneAndItsOutputAsNull(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {t: {}, u: {}}
tasks:
  - {id: a, run: 'echo 1', output: t, when: input.wanted}
  - {id: b, needs: [a], run: 'cat > ctx; echo 1', output: u}
  - {id: c, needs: [a], run: 'touch c', when: outputs.t == nil}
  - {id: d, needs: [a], run: 'touch d', when: not outputs.t.deep.er}
  - {id: e, needs: [a], run: 'touch e', when: outputs.t.deep.er}
`, `{}`)
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, map[string]snapshot.NodeState{
		"a::0": snapshot.NodeSkipped, "b::0": snapshot.NodeFinished, "c::0": snapshot.NodeFinished,
		"d::0": snapshot.NodeFinished, "e::0": snapshot.NodeSkipped,
	}, s.states())
	var context struct{ Outputs, Needs map[string]any }
	require.NoError(t, json.Unmarshal([]byte(s.read("ctx")), &context))
	assert.Equal(t, map[string]any{"t": nil}, context.Outputs)
	assert.Equal(t, map[string]any{"a": nil}, context.Needs)
	assert.Contains(t, s.events(), "NodeSkipped")
}

func TestConditionsAreFalseForNullAndFailForAnythingElse(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		`input.flag`:                                  "finished",
		`input.missing`:                               "skipped",
		`input.missing.deeper`:                        "skipped",
		`not input.missing`:                           "finished",
		`input.missing or input.flag`:                 "finished",
		`input.missing and input.flag`:                "skipped",
		`input.big == 9007199254740993`:               "finished",
		`input.n > 2.5`:                               "finished",
		`input.list[0] == "x"`:                        "finished",
		`"x" in input.list`:                           "finished",
		`any(input.list, # == "x")`:                   "finished",
		`(input.missing ?? 3) > 2`:                    "finished",
		`outputs.t.k == 1 and output("t","a").k == 1`: "finished",
		`input.word`:                                  `failed: when: the result is "word", neither true nor false`,
		`input.missing > 3`:                           "failed: when: invalid operation: <nil> > int (1:15)",
		`input.list[7] == 1`:                          "failed: when: index out of range: 7 (array length is 1) (1:11)",
		`len(map(1..1000000, #)) > 0`:                 "failed: when: memory budget exceeded (1:10)",
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, "name: w\noutputs: {t: {}}\ntasks:\n  - {id: a, run: 'echo {\\\"k\\\":1}', output: t}\n  - id: b\n    needs: [a]\n    run: 'true'\n    when: '"+condition+"'\n",
				`{"flag":true,"big":9007199254740993,"n":3,"list":["x"],"word":"word"}`)
			_, err := s.run()
			if reason, failed := strings.CutPrefix(want, "failed: "); failed {
				assert.Equal(t, "run r failed: b: "+reason, fails(t, fault.RunFailed, err))
				assert.Equal(t, snapshot.NodeFailed, s.states()["b::0"])
				return
			}
			require.NoError(t, err)
			assert.Equal(t, snapshot.NodeState(want), s.states()["b::0"])
		})
	}
}

func TestInALoopWhenReadsWhatASiblingWroteBefore(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {v: {}}
tasks:
  - loop: l
    until: outputs.v == 2
    max: 9
    tasks:
      - {id: fix, run: 'echo $SMITHERS_ITERATION >> fixed', when: outputs.v != 0}
      - {id: check, needs: [fix], run: 'echo $SMITHERS_ITERATION', output: v}
`, "")
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, "0\n2\n", s.read("fixed"), "iteration 1 follows a 0")
}

func TestLoopsEndAtTheirMax(t *testing.T) {
	t.Parallel()
	file := func(onMax string) string {
		return "name: w\ntasks:\n  - {loop: l, until: 'false', max: 2, " + onMax + "tasks: [{id: a, run: 'true'}]}\n  - {id: after, needs: [a], run: 'touch after'}\n"
	}
	t.Run("and fail the run", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, file(""), "")
		_, err := s.run()
		assert.Equal(t, "run r failed: l: until did not hold after 2 iterations, its max", fails(t, fault.RunFailed, err))
		assert.Equal(t, snapshot.NodePending, s.states()["after::0"])
	})
	t.Run("or finish, when they are told to", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, file("on_max: finish, "), "")
		_, err := s.run()
		require.NoError(t, err)
		assert.Contains(t, s.subjects(), "l ended after 2 iterations, its max")
		assert.Equal(t, snapshot.NodeFinished, s.states()["after::0"])
	})
	t.Run("and a condition that fails is the run's failure", func(t *testing.T) {
		t.Parallel()
		s := newScratch(t, strings.Replace(file(""), "'false'", "input.x > 1", 1), "")
		_, err := s.run()
		assert.Equal(t, "run r failed: l: until: invalid operation: <nil> > int (1:9)", fails(t, fault.RunFailed, err))
	})
}

func TestAfterAFailureSiblingsFinishAndNothingNewStarts(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {t: {}}
tasks:
  - {id: bad, run: 'read go < started; exit 1'}
  - {id: slow, run: 'echo go > started; read go < failed; echo 1', output: t}
  - {id: flaky, run: 'read go < failed2; exit 1', retries: 3}
  - {id: next, needs: [slow], run: 'touch next'}
`, "")
	s.fifo("started", "failed", "failed2")
	s.opts.Progress = func(p engine.Progress) {
		if p.Failed == 1 && p.Running == 2 { // the failure is committed: let the others go on
			go s.file("failed", "go\n")
			go s.file("failed2", "go\n")
		}
	}
	_, err := s.run()
	assert.Equal(t, "run r failed: bad: exit status 1", fails(t, fault.RunFailed, err))
	assert.Equal(t, map[string]snapshot.NodeState{
		"bad::0": snapshot.NodeFailed, "slow::0": snapshot.NodeFinished,
		"flaky::0": snapshot.NodePending, "next::0": snapshot.NodePending,
	}, s.states())
	assert.Equal(t, map[string]string{"slow::0": "1"}, s.outputs("t"))
	assert.Empty(t, s.read("next"))
	subjects := s.subjects()
	assert.Equal(t, "run failed: bad: exit status 1", subjects[len(subjects)-1])
	assert.Equal(t, "bad: exit status 1", s.tipRow().Error)
}

func TestProgressAndLiveLogSayWhatHappens(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'echo out; printf "err\nlast" >&2'}]}`, "")
	var log bytes.Buffer
	var frames []engine.Progress
	s.opts.Log = &log
	s.opts.Progress = func(p engine.Progress) { frames = append(frames, p) }
	_, err := s.run()
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"a| out", "a| err", "a| last"}, strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n"), "of both streams")
	var steps []string
	for i := range frames {
		for _, step := range frames[i].Steps {
			steps = append(steps, fmt.Sprintf("%s %s: %s, took %t", step.Task, step.State, step.What, step.EndedAtMs >= step.StartedAtMs))
		}
		frames[i].Steps = nil
	}
	assert.Equal(t, []string{"a in-progress: started, took false", "a finished: finished, took true"}, steps)
	assert.Equal(t, []engine.Progress{
		{Frame: 1, Subject: "a started", Nodes: 1, Running: 1},
		{Frame: 2, Subject: "a finished", Nodes: 1, Finished: 1},
		{Frame: 3, Subject: "run finished", Nodes: 1, Finished: 1},
	}, frames)
}

func TestInitialRefusesAnInputThatDoesNotFit(t *testing.T) {
	t.Parallel()
	wf := parse(t, triage)
	for input, message := range map[string]string{
		``:                      `input: required: missing properties: ["ticket"]`,
		`{}`:                    `input: required: missing properties: ["ticket"]`,
		`{"ticket":7}`:          `input.ticket: type: 7 has type "integer", want "string"`,
		`[]`:                    `--input is not a JSON object`,
		`{"ticket":`:            `--input: not JSON: the text ends in the middle of a value`,
		`{"ticket":"x"} {}`:     `--input: text follows the JSON value`,
		"{\"ticket\":\"\xff\"}": `--input: not valid UTF-8`,
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			var raw json.RawMessage
			if input != "" {
				raw = json.RawMessage(input)
			}
			_, err := engine.Initial("r", wf, raw, newScratch(t, "{name: w, tasks: [{id: a, run: x}]}", "").opts.Now())
			assert.Equal(t, message, fails(t, fault.InvalidInput, err))
		})
	}
}
