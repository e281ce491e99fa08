package engine_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const shipping = `
name: w
outputs: {decision: {type: object, required: [approved]}, t: {}}
tasks:
  - {id: build, run: 'echo 1', output: t}
  - {id: gate, needs: [build], label: Ship it, output: decision, approval: {summary: "build {outputs.t} of {run}"}}
  - {id: ship, needs: [gate], run: 'cat > ship', when: outputs.decision.approved}
`

func TestARunWaitsForAnApproval(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipping, "")
	assert.Equal(t, "run r waits for approval (gate)", s.waits(snapshot.RunWaitingApproval))
	assert.Equal(t, []string{"build started", "build finished", "gate waits for approval", "run waits for approval (gate)"}, s.subjects())
	assert.Equal(t, snapshot.NodeWaitingApproval, s.states()["gate::0"])
	a := s.attempts()["gate::0::1"]
	assert.Equal(t, "waiting-approval", a.State)
	assert.Nil(t, a.FinishedAtMs)
	got := s.approval("gate::0")
	assert.Equal(t, snapshot.Approval{
		NodeID: "gate", Attempt: 1, Status: snapshot.ApprovalRequested, Title: "Ship it", Summary: "build 1 of r", RequestedAtMs: a.StartedAtMs,
	}, got)
	request := `{"runId":"r","nodeId":"gate","iteration":0,"attempt":1,"request":{"mode":"decision","title":"Ship it","summary":"build 1 of r"}}`
	assert.Equal(t, []string{request}, s.payloads("ApprovalRequested"))
	assert.Equal(t, []string{request}, s.payloads("NodeWaitingApproval"))

	entries := len(s.entries)
	s.waits(snapshot.RunWaitingApproval)
	assert.Len(t, s.entries, entries, "who looks and finds nothing writes nothing")
}

func TestAnApprovedRunGoesOn(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipping, "")
	s.waits(snapshot.RunWaitingApproval)
	frame := s.tipRow().Frame
	s.decide("", true, "looks good", "anna")
	assert.Equal(t, frame, s.tipRow().Frame, "what people do is no frame")
	assert.Equal(t, "gate::0 was approved by anna", s.subjects()[4])
	assert.Equal(t, []string{`{"runId":"r","nodeId":"gate","iteration":0,"attempt":1,"note":"looks good","decidedBy":"anna"}`}, s.payloads("ApprovalGranted"))

	s.finishes()
	assert.Equal(t, []string{"gate approved by anna", "ship started", "ship finished", "run finished"}, s.subjects()[5:])
	at := time.UnixMilli(*s.approval("gate::0").DecidedAtMs).UTC().Format("2006-01-02T15:04:05.000Z")
	assert.Equal(t, map[string]string{"gate::0": `{"approved":true,"note":"looks good","decidedBy":"anna","decidedAt":"` + at + `"}`}, s.outputs("decision"))
	assert.Contains(t, s.read("ship"), `"note":"looks good"`)
	a := s.attempts()["gate::0::1"]
	assert.Equal(t, snapshot.AttemptFinished, a.State)
	assert.NotNil(t, a.FinishedAtMs)
}

func TestAnApprovalMayComeWhileTheEngineRuns(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipping, "")
	result, err := s.beside("gate waits", func() { s.decide("gate", true, "", "") })
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunFinished, result.Run.Status)
	assert.Contains(t, s.outputs("decision")["gate::0"], `{"approved":true,"note":null,"decidedBy":null,"decidedAt":"`)
	assert.Contains(t, s.subjects(), "gate approved")
	assert.NotContains(t, s.subjects(), "run waits for approval (gate)")
}

func TestOnDenySaysWhatADenialMeans(t *testing.T) {
	t.Parallel()
	file := func(on string) string {
		return `
name: w
outputs: {decision: {}}
tasks:
  - {id: gate, output: decision, approval: {title: Ship it?` + on + `}}
  - {id: after, needs: [gate], run: 'touch after'}
`
	}
	denied := func(t *testing.T, on string) (*scratch, error) {
		t.Helper()
		s := newScratch(t, file(on), "")
		s.waits(snapshot.RunWaitingApproval)
		s.decide("gate", false, "not on a Friday", "anna")
		_, err := s.run()
		return s, err
	}
	for _, on := range []string{"", ", on_deny: fail"} {
		t.Run("fail"+on, func(t *testing.T) {
			t.Parallel()
			s, err := denied(t, on)
			assert.Equal(t, "run r failed: gate: denied by anna: not on a Friday", fails(t, fault.RunFailed, err))
			a := s.attempts()["gate::0::1"]
			assert.Equal(t, snapshot.AttemptFailed, a.State)
			assert.Equal(t, "denied: denied by anna: not on a Friday", a.Error)
			assert.Equal(t, snapshot.NodeFailed, s.states()["gate::0"])
			assert.Len(t, s.payloads("ApprovalDenied"), 1)
		})
	}
	t.Run("continue", func(t *testing.T) {
		t.Parallel()
		s, err := denied(t, ", on_deny: continue")
		require.NoError(t, err)
		assert.Contains(t, s.outputs("decision")["gate::0"], `{"approved":false,"note":"not on a Friday","decidedBy":"anna",`)
		assert.Equal(t, snapshot.NodeFinished, s.states()["after::0"])
	})
	t.Run("skip", func(t *testing.T) {
		t.Parallel()
		s, err := denied(t, ", on_deny: skip")
		require.NoError(t, err)
		assert.Empty(t, s.outputs("decision"))
		assert.Equal(t, snapshot.NodeSkipped, s.states()["gate::0"])
		assert.Equal(t, snapshot.AttemptFinished, s.attempts()["gate::0::1"].State)
		assert.Contains(t, s.subjects(), "gate denied by anna")
	})
}

func TestRetriesAskAgainAlsoOverProcesses(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: gate, retries: 1, approval: Ship it?}]}`, "")
	s.waits(snapshot.RunWaitingApproval)
	s.decide("gate", false, "", "anna")
	s.waits(snapshot.RunWaitingApproval)
	assert.Contains(t, s.subjects(), "gate failed (attempt 1 of 2): denied by anna")
	assert.Equal(t, snapshot.ApprovalRequested, s.approval("gate::0").Status)
	assert.Equal(t, 2, s.approval("gate::0").Attempt)
	s.decide("gate", false, "", "ben")
	_, err := s.run()
	assert.Equal(t, "run r failed: gate: denied by ben", fails(t, fault.RunFailed, err))
	assert.Equal(t, "denied: denied by anna", s.attempts()["gate::0::1"].Error)
	assert.Equal(t, "denied: denied by ben", s.attempts()["gate::0::2"].Error)

	s.waits(snapshot.RunWaitingApproval)
	assert.Equal(t, 3, s.approval("gate::0").Attempt, "who resumes a failed run asks anew")
	s.decide("gate", true, "", "")
	s.finishes()
}

func TestAnApprovalInALoopIsAskedForInEveryIteration(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {decision: {}, draft: {}}
tasks:
  - loop: review
    until: outputs.decision.approved
    max: 3
    tasks:
      - {id: write, output: draft, run: 'echo "$SMITHERS_ITERATION"'}
      - {id: ok, needs: [write], output: decision, approval: {title: "draft {outputs.draft}, round {iteration}", on_deny: continue}}
`, "")
	s.waits(snapshot.RunWaitingApproval)
	assert.Equal(t, "draft 0, round 0", s.approval("ok::0").Title)
	s.decide("ok", false, "", "")
	s.waits(snapshot.RunWaitingApproval)
	assert.Equal(t, "draft 1, round 1", s.approval("ok::1").Title)
	assert.Equal(t, snapshot.ApprovalDenied, s.approval("ok::0").Status, "the old one is kept")
	s.decide("ok", true, "", "anna")
	s.finishes()
	assert.Len(t, s.outputs("decision"), 2)
	assert.Contains(t, s.subjects(), "ok::1 approved by anna")
}

func TestWhatWaitsTakesNoSlot(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: one, approval: One?}
  - {id: two, wait_for: ping}
  - {id: three, timer: 24h}
  - {id: four, human: Four?}
  - {id: work, run: 'touch done'}
`, "")
	s.opts.MaxParallel = 1
	said := s.waits(snapshot.RunWaitingApproval)
	assert.Equal(t, "run r waits for approval (one), an answer (four), a signal (two), a timer (three)", said)
	assert.Equal(t, snapshot.NodeFinished, s.states()["work::0"])
	assert.Equal(t, "one waits for approval; two waits for signal ping; three waits for its timer; four waits for an answer; work started", s.subjects()[0])
}

func TestAFailureDoesNotWaitForPeople(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
tasks:
  - {id: gate, approval: Ship it?}
  - {id: bad, run: 'test -e mended'}
`, "")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, snapshot.NodeWaitingApproval, s.states()["gate::0"])
	s.file("mended", "")
	s.decide("gate", true, "", "")
	s.finishes()
	assert.Equal(t, 1, *s.node("gate::0").LastAttempt, "it waited on")
}

func TestACancelledRunGoesOnWaiting(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: gate, approval: Ship it?}]}`, "")
	result, err := s.beside("gate waits", func() {
		require.NoError(t, engine.Cancel(t.Context(), s.open(t), "", s.opts.Now()))
	})
	fails(t, fault.RunCancelled, err)
	assert.Equal(t, snapshot.RunCancelled, result.Run.Status)
	assert.Equal(t, snapshot.NodeWaitingApproval, s.states()["gate::0"])
	s.opts.Wait = false
	s.waits(snapshot.RunWaitingApproval)
	s.decide("gate", true, "", "")
	s.finishes()
	assert.Len(t, s.payloads("ApprovalRequested"), 1)
}

func TestANodeWithoutItsRequestAsksAnew(t *testing.T) {
	t.Parallel()
	decided := snapshot.EncodeApproval(snapshot.Approval{
		NodeID: "gate", Attempt: 7, Status: snapshot.ApprovalApproved, Title: "Another", RequestedAtMs: 1, DecidedAtMs: new(int64(2)),
	})
	ended := snapshot.EncodeAttempt(snapshot.Attempt{NodeID: "gate", Attempt: 1, State: snapshot.AttemptCancelled, FinishedAtMs: new(int64(3))})
	for name, edit := range map[string]snapshot.Draft{
		"no request": {Mailbox: []snapshot.Change{{Op: snapshot.OpRemove, Collection: snapshot.CollectionApprovals, Key: "gate::0"}}},
		"that of another attempt": {Mailbox: []snapshot.Change{
			{Op: snapshot.OpSet, Collection: snapshot.CollectionApprovals, Key: decided.Key, Value: decided.Value},
		}},
		"an attempt that has ended": {Journal: []snapshot.Change{
			{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: ended.Key, Value: ended.Value},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, tasks: [{id: gate, approval: Ship it?}]}`, "")
			s.waits(snapshot.RunWaitingApproval)
			edit.Subject = "somebody edits"
			require.NoError(t, s.open(t).Append(t.Context(), edit))
			s.opts.Input = json.RawMessage(`{"look":"again"}`)
			s.waits(snapshot.RunWaitingApproval)
			assert.Equal(t, 2, s.approval("gate::0").Attempt)
			assert.Equal(t, snapshot.ApprovalRequested, s.approval("gate::0").Status)
			assert.Equal(t, snapshot.AttemptCancelled, s.attempts()["gate::0::1"].State)
			s.decide("gate", true, "", "")
			s.finishes()
		})
	}
}

func TestWhoKnowsAnOlderTipDecidesOnTheNewest(t *testing.T) {
	t.Parallel()
	s := newScratch(t, shipping, "")
	early := s.open(t)
	s.waits(snapshot.RunWaitingApproval)
	_, err := handIn(t.Context(), early, mailbox.Letter{}, s.opts.Now())
	require.NoError(t, err)
	s.finishes()
}

func TestAnAttemptThatCannotAskCountsAsATryWhoeverMadeTheOthers(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: gate, retries: 1, approval: "Ship {input.what}?"}]}`, `{"what":"it"}`)
	s.waits(snapshot.RunWaitingApproval)
	s.decide("gate", false, "", "")
	died := errors.New("the machine went down")
	s.refuse = func(d snapshot.Draft) error {
		if d.Subject == "gate waits for approval" {
			return died
		}
		return nil
	}
	_, err := s.run()
	require.ErrorIs(t, err, died)
	s.opts.Input = json.RawMessage(`{"what":{}}`)
	_, err = s.run()
	fails(t, fault.RunFailed, err)
	assert.Len(t, s.attempts(), 2)
}

func TestATaskThatNoLongerWaitsRunsItsCommand(t *testing.T) {
	t.Parallel()
	for wait, event := range map[string]string{
		"approval: Ship it?": "", "wait_for: ping": "", "human: How?": "HumanRequestCancelled", "timer: 24h": "TimerCancelled",
	} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t, `{name: w, tasks: [{id: gate, `+wait+`}]}`, "")
			_, err := s.run()
			fails(t, fault.RunWaiting, err)
			s.wf = parse(t, `{name: w, tasks: [{id: gate, run: 'touch ran'}]}`)
			s.opts.AcceptWorkflowChange = true
			s.finishes()
			assert.Equal(t, snapshot.AttemptCancelled, s.attempts()["gate::0::1"].State)
			state, err := s.tip().State()
			require.NoError(t, err)
			assert.Zero(t, state.Approvals().Len()+state.HumanRequests().Len()+state.Waits().Len())
			if event != "" {
				assert.Len(t, s.payloads(event), 1)
			}
		})
	}
}

func TestAnOutputThatDoesNotFitFailsTheWait(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `
name: w
outputs: {decision: {type: object, properties: {note: {type: string}}}}
tasks: [{id: gate, output: decision, approval: Ship it?}]
`, "")
	s.waits(snapshot.RunWaitingApproval)
	s.decide("gate", true, "", "")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Contains(t, s.attempts()["gate::0::1"].Error, "invalid_output: decision.note: ")
}
