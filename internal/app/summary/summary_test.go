package summary_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A loop whose second iteration fails if the input is strict; then tasks that never begin.
const work = `name: flow
outputs:
  verdict: {type: object}
tasks:
  - {id: locate, run: "true"}
  - loop: work
    until: "(outputs.verdict.n ?? 0) > 0"
    max: 4
    tasks:
      - {id: patch, needs: [locate], retries: 1, run: "[ $SMITHERS_ATTEMPT$SMITHERS_ITERATION != 10 ] || exit 3; echo $SMITHERS_ITERATION >>code"}
      - {id: unit, needs: [patch], retries: 1, run: "cat >in; echo tested; echo $SMITHERS_ATTEMPT >log; ! { [ $SMITHERS_ITERATION = 1 ] && grep -q strict in; }"}
      - {id: review, needs: [unit], output: verdict, run: "echo '{\"n\":'$SMITHERS_ITERATION'}'"}
  - {id: ship, needs: [work], run: "true"}
  - {id: publish, needs: [ship], approval: "Publish?"}
`

func TestAFailureHasItsStepItsLogAndTheChangeBefore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "a", "--input", `{"style":"strict"}`)
	sum := p.read("a")

	require.NotNil(t, sum.Failure)
	assert.Equal(t, "unit::1", sum.Failure.Step.Name())
	assert.Equal(t, 2, sum.Failure.Tries)
	assert.Equal(t, "exit_status: exit status 1", sum.Failure.Error)
	lines, total, err := sum.Log(sum.Failure.Attempt, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"tested"}, lines)
	assert.Equal(t, 1, total)
	// All frames have the same time: what the failed step itself changed is after it began.
	require.NotNil(t, sum.Failure.Change)
	assert.Equal(t, new("patch::1"), sum.Failure.Change.Step)
	assert.Equal(t, summary.Code{Files: 1, Added: 1}, sum.Failure.Change.Code)
	assert.Equal(t, *step(t, sum, "patch::1").Last().Frame, sum.Failure.Change.Frame)

	assert.Equal(t, []string{"locate", "patch::0", "unit::0", "review::0", "patch::1", "unit::1", "review::1", "ship", "publish"}, names(sum))
	assert.Equal(t, []string{"unit"}, step(t, sum, "review::1").OpenNeeds)
	assert.Equal(t, []string{"work"}, step(t, sum, "ship").OpenNeeds, "the loop is not done, although its tasks once were")
	assert.Equal(t, []string{"ship"}, step(t, sum, "publish").OpenNeeds)
	assert.Equal(t, []summary.Loop{{Loop: snapshot.Loop{RalphID: "work", Iteration: 1}, Max: 4}}, sum.Loops)

	patch := step(t, sum, "patch::0")
	require.Len(t, patch.Attempts, 2)
	assert.Equal(t, &sqliteindex.Lines{Added: 1}, patch.Lines())
	assert.Equal(t, snapshot.AttemptFailed, patch.Attempts[0].State)
	assert.Nil(t, patch.Attempts[0].Lines)
	output, err := sum.Output(step(t, sum, "review::0"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"n":0}`, string(output))
	assert.Equal(t, 3, sum.Code.Files, "code, in, log")
	assert.False(t, sum.Session)
}

func TestForksThatWentBetterAreKnown(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "a", "--input", `{"style":"strict","n":1}`)
	sum := p.read("a")
	before := sum.Failure.Change.Frame
	p.now = p.now.Add(time.Hour)
	at := "a:" + itoa(before)
	better := p.do(fault.ExitWaiting, "", "replay", at, "--label", "relaxed", "--input", `{"style":"relaxed"}`)
	p.now = p.now.Add(time.Minute)
	p.do(fault.ExitFailed, "", "replay", at)
	p.do(fault.ExitOK, "", "approve", better, "publish", "--by", "ada")
	p.do(fault.ExitOK, "", "resume", better)

	sum, store := p.open("a")
	forks, total, err := sum.Forks(t.Context(), store, 10, p.now)
	require.NoError(t, err)
	assert.Equal(t, 2, total)
	require.Len(t, forks, 2)
	assert.True(t, forks[0].Better)
	assert.Equal(t, []summary.InputValue{{Name: "style", Value: []byte(`"relaxed"`)}}, forks[0].Differs)
	assert.Equal(t, snapshot.RunFinished, forks[0].Status)
	assert.False(t, forks[1].Better)
	assert.Equal(t, new(snapshot.NodeFailed), forks[1].StepState)
	assert.Empty(t, forks[1].Differs)
	few, total, err := sum.Forks(t.Context(), store, 1, p.now)
	require.NoError(t, err)
	assert.Len(t, few, 1)
	assert.Equal(t, 2, total)

	// What the fork's parent did is not the fork's own: it only waited, for a minute.
	fork := p.read(better)
	assert.True(t, step(t, fork, "patch::1").Inherited)
	assert.False(t, step(t, fork, "unit::1").Inherited)
	assert.Equal(t, forks[0].CreatedAtMs, fork.StartMs)
	assert.Equal(t, int64(0), fork.TookMs)
	assert.Equal(t, time.Minute.Milliseconds(), fork.WaitedMs)
	assert.Equal(t, "a", fork.Origin.At.Run)
	assert.Equal(t, 3, fork.Code.Files, "since the first frame of the parent")
}

func TestForksAreThoseOfOneMoment(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "name: flow\ntasks:\n  - {id: gate, approval: Go?}\n")
	p.do(fault.ExitWaiting, "", "run", "flow.yaml", "--run-id", "a")
	for _, fork := range []string{"unreadable", "b"} {
		p.do(fault.ExitOK, "", "fork", "a", "--run-id", fork)
		p.now = p.now.Add(time.Minute)
	}
	p.replace(t, "unreadable", "approvals", p.repo.GitInput("no rows", "hash-object", "-w", "--stdin"))
	store, err := timeline.Open(t.Context(), timeline.Options{
		Dir: p.repo.Dir, Env: p.repo.Env, Now: func() time.Time { return p.now },
		Warn: func(error) { p.do(fault.ExitOK, "", "approve", "b", "gate") }, // after the forks were listed, before b is read
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	sum, err := summary.Read(t.Context(), store, "a", p.now)
	require.NoError(t, err)
	p.do(fault.ExitOK, "", "approve", "a", "gate")
	p.do(fault.ExitOK, "", "resume", "a")
	p.do(fault.ExitOK, "", "fork", "a", "--run-id", "later")

	forks, total, err := sum.Forks(t.Context(), store, 10, p.now)
	require.NoError(t, err)
	assert.Equal(t, 2, total, "later is a fork of a frame that the run did not have")
	require.Len(t, forks, 1)
	assert.Equal(t, "b", forks[0].RunID)
	require.Len(t, forks[0].Waits, 1)
	assert.False(t, forks[0].Waits[0].Ready, "it was approved later")
}

func TestAWaitThatAForkInheritsIsItsOwnFromTheForkOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "name: flow\ntasks:\n  - {id: gate, approval: {title: Go?, summary: All pass}}\n")
	p.do(fault.ExitWaiting, "", "run", "flow.yaml", "--run-id", "a")
	p.now = p.now.Add(time.Hour)
	p.do(fault.ExitOK, "", "fork", "a", "--run-id", "b")
	p.now = p.now.Add(time.Minute)
	p.do(fault.ExitOK, "", "approve", "b", "gate")
	p.do(fault.ExitOK, "", "resume", "b")

	b := p.read("b")
	gate := step(t, b, "gate")
	assert.False(t, gate.Inherited)
	assert.Equal(t, time.Minute.Milliseconds(), b.WaitedMs)
	a := p.read("a")
	assert.Equal(t, (time.Hour + time.Minute).Milliseconds(), a.WaitedMs, "it still waits")
	require.Len(t, a.Waits, 1)
	asked, err := a.Asked(a.Waits[0])
	require.NoError(t, err)
	assert.Equal(t, new("All pass"), asked.Summary)
	assert.Equal(t, &a.StartMs, asked.SinceMs)
}

func TestWaitsSayWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: ask, human: {prompt: "Where?", form: {enum: [a, b]}, timeout: 1h}}
  - {id: nap, timer: 2h}
  - {id: ping, wait_for: ping}
`)
	p.do(fault.ExitWaiting, "", "run", "flow.yaml", "--run-id", "a")
	sum := p.read("a")
	require.Len(t, sum.Waits, 3)
	asked, err := sum.Asked(sum.Waits[0])
	require.NoError(t, err)
	assert.Equal(t, summary.Asked{SinceMs: new(p.now.UnixMilli()), Kind: snapshot.HumanSelect, Form: []byte(`{"enum":["a","b"]}`)}, asked)
	for _, w := range sum.Waits[1:] {
		asked, err := sum.Asked(w)
		require.NoError(t, err)
		assert.Equal(t, new(p.now.UnixMilli()), asked.SinceMs)
	}
	assert.Nil(t, sum.Failure)
}

func TestAttemptsInWorktreesOfTheirOwnHaveTheirLines(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `name: flow
tasks:
  - {id: left, worktree: {}, retries: 1, run: "echo l >>code; [ $SMITHERS_ATTEMPT = 2 ]"}
  - {id: right, worktree: {}, run: "printf 'r\\ns\\n' >new"}
  - {id: fail, needs: [left, right], run: "exit 1"}
`)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "a", "--max-parallel", "1")
	sum := p.read("a")
	left := step(t, sum, "left")
	require.Len(t, left.Attempts, 2)
	assert.Equal(t, &sqliteindex.Lines{Added: 1}, left.Attempts[0].Lines)
	assert.Equal(t, &sqliteindex.Lines{Added: 1}, left.Attempts[1].Lines, "since the first attempt")
	assert.Equal(t, &sqliteindex.Lines{Added: 2}, step(t, sum, "right").Lines())
	assert.Nil(t, step(t, sum, "fail").Lines())
	assert.Equal(t, summary.Code{Files: 2, Added: 4}, sum.Code)
	require.NotNil(t, sum.Failure.Change)
	assert.Equal(t, new("right"), sum.Failure.Change.Step)
	assert.Equal(t, summary.Code{Files: 1, Added: 2}, sum.Failure.Change.Code)

	// A fork goes on from the files that its parent left in the worktree.
	b := p.do(fault.ExitFailed, "", "replay", "a:"+itoa(*left.Attempts[1].Frame), "--node", "left", "--restore-vcs")
	fork := p.read(b)
	again := step(t, fork, "left")
	assert.True(t, again.Attempts[0].Inherited)
	last := again.Last()
	require.NotNil(t, last.Lines)
	assert.Equal(t, int64(1), last.Lines.Added)
}

func TestAnEngineWithoutAttemptsIsSummarized(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	capture := func(state, change string) {
		p.repo.Write("code", change)
		p.do(fault.ExitOK, `{"changes":[{"op":"set","collection":"nodes","key":"plan::0","value":{"state":"`+state+`"}},`+
			`{"op":"set","collection":"nodes","key":"build::0","value":{"state":"pending","needs":["plan","gone"]}}]}`, "capture", "x")
	}
	capture("in-progress", "one\n")
	p.now = p.now.Add(3 * time.Second)
	capture("finished", "two\n")
	sum := p.read("x")
	assert.Equal(t, []string{"build", "plan"}, names(sum))
	assert.Equal(t, []string{"gone"}, step(t, sum, "build").OpenNeeds)
	assert.Empty(t, sum.Attempts)
	assert.Equal(t, int64(3000), sum.TookMs)
	assert.Equal(t, summary.Code{Files: 1, Added: 1, Removed: 1}, sum.Code)
	assert.False(t, sum.Stale, "the engine claims no runs")
}

func TestTravelLeavesWhatWasDropped(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "a", "--input", `{"style":"strict"}`)
	p.do(fault.ExitOK, "", "travel", "a", "--node", "patch", "--iteration", "1")
	sum := p.read("a")
	patch := step(t, sum, "patch::1")
	assert.Equal(t, snapshot.NodePending, patch.State)
	assert.Nil(t, patch.Lines(), "the frame with its change was dropped")
	assert.Nil(t, sum.Failure)
}

// A session is recorded by hooks: a turn is a step, and a call knows the frame with its files.
func TestTheTurnsOfASession(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	transcript := p.repo.Dir + "/.git/t"
	said := []string{
		`{"type":"user","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"say hello"}}`,
		`{"type":"assistant","timestamp":"2026-01-02T03:04:06Z","message":{"id":"m1","role":"assistant","usage":{"input_tokens":10,"output_tokens":4},"content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"hello"}}]}}`,
		`{"type":"user","timestamp":"2026-01-02T03:04:07Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}`,
		`{"type":"assistant","timestamp":"2026-01-02T03:04:08Z","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"npm test"}}]}}`,
		`{"type":"user","timestamp":"2026-01-02T03:04:09Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no"}]}}`,
	}
	hook := func(event, rest string) {
		p.do(fault.ExitOK, `{"session_id":"s","transcript_path":"`+transcript+`","hook_event_name":"`+event+`"`+rest+`}`, "session", "hook", "claude", event)
	}
	p.repo.Write(".git/t", "")
	hook("UserPromptSubmit", `,"prompt":"say hello"`)
	p.repo.Write("hello", "hello\n")
	p.repo.Write(".git/t", strings.Join(said[:3], "\n")+"\n")
	hook("PostToolBatch", `,"tool_calls":[{"tool_name":"Write","tool_use_id":"t1"}]`)
	p.repo.Write(".git/t", strings.Join(said, "\n")+"\n")
	hook("Stop", `,"last_assistant_message":"Done."`)

	sum := p.read("claude-s")
	assert.True(t, sum.Session)
	assert.Equal(t, summary.Calls{Total: 2, Failed: 1}, sum.Calls)
	require.NotNil(t, sum.Usage)
	assert.Equal(t, int64(14), sum.Usage.Tokens())
	turn := step(t, sum, "turn::1")
	prompt, answer, err := sum.Prompt(turn)
	require.NoError(t, err)
	assert.Equal(t, "say hello", prompt)
	assert.Equal(t, "Done.", answer)
	calls, err := sum.ToolCalls(turn)
	require.NoError(t, err)
	require.Len(t, calls, 2)
	assert.True(t, calls[0].Changed)
	assert.Equal(t, &sqliteindex.Lines{Added: 1}, calls[0].Lines)
	input, err := sum.Arguments(&calls[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"file_path":"hello"}`, string(input))
	assert.Equal(t, []int{0, 1}, []int{calls[0].Seq, calls[1].Seq})
	assert.Equal(t, snapshot.ToolCallFailed, calls[1].Status)
	assert.False(t, calls[1].Changed)
}

// A stranger's run, or a bad disk, can have parts that cannot be read: the others still are.
func TestWhatCannotBeReadIsNamedAndTheRestIsThere(t *testing.T) { //nolint:tparallel // each subtest damages the same run
	t.Parallel()
	p := newPlace(t, work)
	p.do(fault.ExitFailed, "", "run", "flow.yaml", "--run-id", "a", "--input", `{"style":"strict"}`)
	whole := p.read("a")
	p.repo.Damaged()
	garbage := p.repo.GitInput("no page\n", "hash-object", "-w", "--stdin")
	for _, broken := range []struct {
		path string
		part summary.Part
	}{
		{"journal/attempts", summary.PartAttempts},
		{"nodes", summary.PartSteps},
		{"loops", summary.PartSteps},
		{"input", summary.PartInput},
	} {
		t.Run(broken.path, func(t *testing.T) {
			p.replace(t, "a", broken.path, garbage)
			sum, _ := p.open("a")
			assert.Equal(t, snapshot.RunFailed, sum.Row.Status)
			require.Contains(t, sum.Unread, broken.part)
			assert.Equal(t, fault.CorruptObject, fault.CodeOf(sum.Unread[broken.part]), sum.Unread[broken.part])
			if broken.part != summary.PartSteps {
				assert.Len(t, sum.Steps, len(whole.Steps))
			}
			if broken.part != summary.PartAttempts {
				assert.Len(t, sum.Attempts, len(whole.Attempts))
			}
			assert.Equal(t, whole.Code, sum.Code)
		})
	}
}

// A run of many frames is read without the frames at which nothing ended, and says the same.
func TestABriefSummarySaysTheSame(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	var lines strings.Builder
	for i := range 1100 {
		change := `{"op":"set","collection":"loops","key":"l","value":{"iteration":` + strconv.Itoa(i) + `,"done":false}}`
		files := `"worktree":` + strconv.FormatBool(i == 0)
		if i == 700 || i == 1050 {
			state := "finished"
			if i == 1050 {
				state = "failed"
			}
			node := "n" + strconv.Itoa(i)
			change += `,{"op":"set","collection":"nodes","key":"` + node + `::0","value":{"state":"` + state + `","lastAttempt":1}}` +
				`,{"op":"set","collection":"attempts","key":"` + node + `::0::1","value":{"state":"` + state + `","startedAtMs":` +
				strconv.FormatInt(p.now.UnixMilli()+int64(i), 10) + `,"finishedAtMs":` + strconv.FormatInt(p.now.UnixMilli()+int64(i)+1, 10) +
				`,"frame":` + strconv.Itoa(i) + `}}`
			files = `"worktree":true`
		}
		lines.WriteString(`{"changes":[` + change + `],` + files + "}\n")
	}
	half := strings.SplitAfter(lines.String(), "\n")
	p.do(fault.ExitOK, strings.Join(half[:700], ""), "capture", "x", "--batch")
	p.repo.Write("code", "changed\n")
	p.do(fault.ExitOK, strings.Join(half[700:], "")+`{"run":{"status":"failed","error":"no"},"changes":[]}`, "capture", "x", "--batch")

	full, store := p.open("x")
	head, err := store.Head(t.Context(), "x")
	require.NoError(t, err)
	brief, err := summary.ReadBriefly(t.Context(), store, head, p.now)
	require.NoError(t, err)
	require.Empty(t, brief.Unread)
	assert.Len(t, full.Frames.Frames, 1101)
	assert.Less(t, len(brief.Frames.Frames), 10)
	assert.Equal(t, full.Frames.All, brief.Frames.All)
	assert.Equal(t, full.Steps, brief.Steps)
	assert.Equal(t, full.Failure, brief.Failure)
	require.NotNil(t, brief.Failure.Change)
	assert.Equal(t, int64(700), brief.Failure.Change.Frame)
	assert.Equal(t, &sqliteindex.Lines{Added: 1, Removed: 2}, step(t, brief, "n700").Lines())
	assert.Equal(t, new(int64(700)), step(t, brief, "n700").Last().At)
}

// Keys of calls are texts, in whose order call 10 is before call 2.
func TestCallsAreInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, work)
	changes := []string{`{"op":"set","collection":"nodes","key":"a::0","value":{"state":"in-progress"}}`}
	for i := range 12 {
		changes = append(changes, `{"op":"set","collection":"tool-calls","key":"a::0::1::`+strconv.Itoa(i)+`","value":{"toolName":"bash","status":"failed","startedAtMs":1,"input":`+strconv.Itoa(i)+`}}`)
	}
	p.do(fault.ExitOK, `{"changes":[`+strings.Join(changes, ",")+`]}`, "capture", "x")
	sum := p.read("x")
	calls, err := sum.ToolCalls(step(t, sum, "a"))
	require.NoError(t, err)
	require.Len(t, calls, 12)
	for i := range calls {
		assert.Equal(t, i, calls[i].Seq)
	}
	assert.Equal(t, summary.Calls{Total: 12, Failed: 12}, sum.Calls)
}
