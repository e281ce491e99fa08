package timeline_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func setRow(collection string, row page.Row) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: row.Key, Value: json.RawMessage(row.Value)}
}

// asked is an approval of a node's first attempt.
func asked(id, status string) snapshot.Change {
	a := snapshot.Approval{NodeID: id, Attempt: 1, Status: status, Title: "Ship it?", RequestedAtMs: 5}
	if status != snapshot.ApprovalRequested {
		a.DecidedAtMs, a.DecidedBy = new(int64(6)), new("ann")
	}
	return setRow(snapshot.CollectionApprovals, snapshot.EncodeApproval(a))
}

// signal is a signal that was received.
func signal(t testing.TB, s *timeline.Store, run, name string) snapshot.Change {
	t.Helper()
	seq := stateAt(t, s, run).Signals().Len()
	return setRow(snapshot.CollectionSignals, snapshot.EncodeSignal(snapshot.Signal{
		Seq: int64(seq), Name: name, Payload: []byte(`{"n":1}`), ReceivedAtMs: 7,
	}))
}

// signals are the names of the signals that the run "run" has.
func signals(t testing.TB, s *timeline.Store) []string {
	t.Helper()
	var names []string
	for signal, err := range stateAt(t, s, "run").AllSignals() {
		require.NoError(t, err)
		names = append(names, signal.Name)
	}
	return names
}

func approvalAt(t testing.TB, s *timeline.Store, address, id string) string {
	t.Helper()
	for a, err := range stateAt(t, s, address).AllApprovals() {
		require.NoError(t, err)
		if a.NodeID == id {
			return a.Status
		}
	}
	return ""
}

// D1: an output of any shape comes back byte for byte.
func TestOutputsOfEveryShapeComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "list", "object<list", "last<object")
	list, object := `[1, {"deep":[[],{}]}, null, 9007199254740993]`, `{"z":1,"a":{"list":[true,"é"]},"z":2}`
	p.step("list started", p.starts("list::0::1"))
	p.step("list finished", p.finishes("list::0::1", list))
	p.step("object started", p.starts("object::0::1"))
	p.step("object finished", p.finishes("object::0::1", object))
	p.run("last::0::1")
	travelTo(t, s, "run", "list::0::1")
	assert.Empty(t, stateAt(t, s, "run").Tables())
	travelTo(t, s, "run", "last::0::1")
	outputs := stateAt(t, s, "run").Outputs("results")
	assert.Equal(t, map[string]string{"list::0": list, "object::0": object}, rowsOf(t, outputs, nil))
}

// looping is a run of a loop in which work and check go round three times, and then a task
// after it. Each time takes four frames, and one that begins the next.
func looping(t testing.TB, s *timeline.Store) *play {
	t.Helper()
	p := newPlay(t, s, "run", nil)
	p.needs["check"], p.needs["after"] = []string{"work"}, []string{"work", "check"}
	p.loops["work"], p.loops["check"] = "mend", "mend"
	pending := func(i int) []snapshot.Change {
		return []snapshot.Change{p.node("work", i, snapshot.NodePending), p.node("check", i, snapshot.NodePending)}
	}
	p.step("planned", p.loop(0, false), pending(0), []snapshot.Change{p.node("after", 0, snapshot.NodePending)})
	p.run("work::0::1", "check::0::1")
	p.step("mend begins iteration 1", p.loop(1, false), pending(1))
	p.run("work::1::1", "check::1::1")
	p.step("mend begins iteration 2", p.loop(2, false), pending(2))
	p.run("work::2::1", "check::2::1")
	p.step("mend done", p.loop(2, true))
	p.run("after::0::1")
	p.become(snapshot.RunFinished)
	return p
}

// D2, D4: a loop is in the iteration in which it was, with just what that had by then.
func TestALoopGoesBackToTheIterationInWhichItWas(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	looping(t, s)
	for _, c := range []struct {
		to        string
		iteration int
		nodes     map[string]string
	}{
		{"check::1::1", 1, map[string]string{
			"node work::0": "finished", "node check::0": "finished", "node work::1": "finished", "node check::1": "pending",
			"node after::0": "pending",
		}},
		{"work::0::1", 0, map[string]string{"node work::0": "pending", "node check::0": "pending", "node after::0": "pending"}},
		{"after::0::1", 2, map[string]string{
			"node work::0": "finished", "node check::0": "finished", "node work::1": "finished", "node check::1": "finished",
			"node work::2": "finished", "node check::2": "finished", "node after::0": "pending",
		}},
	} {
		travelTo(t, s, "run", c.to)
		state := stateAt(t, s, "run")
		value, ok, err := state.Loops().Get("mend")
		require.NoError(t, err)
		require.True(t, ok)
		loop, err := snapshot.DecodeLoop(page.Row{Key: "mend", Value: value})
		require.NoError(t, err)
		assert.Equal(t, snapshot.Loop{RalphID: "mend", Iteration: c.iteration, Done: c.to == "after::0::1"}, loop, c.to)
		have := stateOf(t, state)
		for key := range have {
			if key == "input" || key[:4] != "node" {
				delete(have, key)
			}
		}
		assert.Equal(t, c.nodes, have, c.to)
	}
}

func TestALaterIterationGoesAwayWithAnEarlierOneThatIsDoneAgainAlone(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := looping(t, s)
	_, err := travel.Travel(t.Context(), s, travel.Request{Run: "run", Node: "work", NoDeps: true})
	require.NoError(t, err)
	assert.Equal(t, "finished", stateOf(t, stateAt(t, s, "run"))["node work::2"])
	p.in("run").step("work started again", p.in("run").starts("work::0::2"))
	travelTo(t, s, "run", "work::0::2")
	assert.Equal(t, map[string]string{
		"node work::0": "pending", "node check::0": "pending", "node after::0": "pending", "input": `{"ticket":"T-1"}`,
	}, stateOf(t, stateAt(t, s, "run")), "what needs it is pending with it")
}

// gated is a run in which the gate waits for an approval beside the task build, and a
// signal comes and the approval is given in the middle of it.
func gated(t testing.TB, s *timeline.Store) *play {
	t.Helper()
	p := newPlay(t, s, "run", nil, "plan", "gate", "build", "deploy<gate,build")
	p.run("plan::0::1")                                                                                                                      // 1, 2
	p.step("gate waits", p.starts("gate::0::1", snapshot.NodeWaitingApproval), []snapshot.Change{asked("gate", snapshot.ApprovalRequested)}) // 3
	p.step("build started", p.starts("build::0::1"))                                                                                         // 4
	p.arrive("signal early", signal(t, s, "run", "early"))
	p.arrive("approved", asked("gate", snapshot.ApprovalApproved))
	p.step("gate finished", p.finishes("gate::0::1", `{"approved":true}`)) // 5
	p.step("build finished", p.finishes("build::0::1", `1`))               // 6
	p.arrive("signal between", signal(t, s, "run", "between"))
	p.step("deploy started", p.starts("deploy::0::1")) // 7
	p.arrive("signal late", signal(t, s, "run", "late"))
	return p
}

// D3.
func TestAnApprovalGivenLaterIsNotGivenAnyMore(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	gated(t, s)
	done := travelTo(t, s, "run", "build::0::1")
	assert.EqualValues(t, 3, done.To.Frame)
	assert.Equal(t, snapshot.ApprovalRequested, approvalAt(t, s, "run", "gate"))
	assert.Equal(t, "waiting-approval", stateOf(t, stateAt(t, s, "run"))["node gate::0"], "it waits again")
	assert.Equal(t, map[string]string{
		"plan::0::1": "finished", "gate::0::1": "waiting-approval",
		"build::0::1": "cancelled stepped_over", "deploy::0::1": "cancelled stepped_over",
	}, attemptsAt(t, s, "run"))
	assert.Empty(t, signals(t, s))
	assert.Equal(t, stateAt(t, s, "run:3").ID(), stateAt(t, s, "run").ID())

	travelTo(t, s, "run", "plan::0::1")
	assert.Empty(t, approvalAt(t, s, "run", "gate"), "nobody has asked yet")
	assert.Equal(t, "cancelled stepped_over", attemptsAt(t, s, "run")["gate::0::1"])
}

func TestWhatHadArrivedBeforeTheAttemptStaysAndWhatCameLaterDoesNot(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	gated(t, s)
	done := travelTo(t, s, "run", "deploy::0::1")
	assert.EqualValues(t, 6, done.To.Frame)
	assert.Equal(t, snapshot.ApprovalApproved, approvalAt(t, s, "run", "gate"))
	assert.ElementsMatch(t, []string{"early", "between"}, signals(t, s),
		"what came after the frame, but before the attempt, was there when it started")
	assert.Equal(t, entryAt(t, s, "run:6").ContentHash, entryAt(t, s, "run").ContentHash)

	undo(t, s, "run")
	assert.ElementsMatch(t, []string{"early", "between", "late"}, signals(t, s))
}

// A wait is as much a part of the state as an approval, and so is a question.
func TestWaitsAndQuestionsGoBackToo(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "plan", "ping", "ask", "end")
	p.run("plan::0::1")
	wait := snapshot.Wait{NodeID: "ping", Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting, Signal: "ping", StartedAtMs: 3}
	question := snapshot.HumanRequest{NodeID: "ask", Attempt: 1, Kind: snapshot.HumanAsk, Status: snapshot.HumanPending, Prompt: "What?", RequestedAtMs: 3}
	p.step("waits", p.starts("ping::0::1", snapshot.NodeWaitingEvent), p.starts("ask::0::1", snapshot.NodeWaitingHuman), []snapshot.Change{
		setRow(snapshot.CollectionWaits, snapshot.EncodeWait(wait)),
		setRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(question)),
	})
	p.step("end started", p.starts("end::0::1"))
	wait.Status, wait.EndedAtMs, wait.SignalSeq = snapshot.WaitReceived, new(int64(9)), new(int64(0))
	question.Status, question.AnsweredAtMs, question.Response = snapshot.HumanAnswered, new(int64(9)), []byte(`"that"`)
	p.arrive("ping", signal(t, s, "run", "ping"))
	p.step("all done", p.finishes("ping::0::1", `1`), p.finishes("ask::0::1", `"that"`), []snapshot.Change{
		setRow(snapshot.CollectionWaits, snapshot.EncodeWait(wait)),
		setRow(snapshot.CollectionHumanRequests, snapshot.EncodeHumanRequest(question)),
	})

	travelTo(t, s, "run", "end::0::1")
	assert.Equal(t, stateAt(t, s, "run:3").ID(), stateAt(t, s, "run").ID())
	assert.Equal(t, map[string]string{
		"plan::0::1": "finished", "ping::0::1": "waiting-event", "ask::0::1": "waiting-human", "end::0::1": "cancelled stepped_over",
	}, attemptsAt(t, s, "run"))
	travelTo(t, s, "run", "plan::0::1")
	state := stateAt(t, s, "run")
	assert.Zero(t, state.Waits().Len()+state.HumanRequests().Len()+state.Signals().Len())
}

func TestTheLogOfAnAttemptThatNobodyGoesOnWithIsKept(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a", "b")
	p.run("a::0::1")
	p.step("b started", p.starts("b::0::1"))
	log, err := claim.LiveLogsOf(s, "run").Open("b::0::1", 1000)
	require.NoError(t, err)
	_, err = log.Write([]byte("half way\n"))
	require.NoError(t, err)
	require.NoError(t, log.Close())

	travelTo(t, s, "run", "b::0::1")
	logs, err := entryAt(t, s, "run").Logs()
	assert.Equal(t, map[string]string{"b::0::1": `"half way\n"`}, rowsOf(t, logs, err))
	assert.Empty(t, claim.LiveLogsOf(s, "run").Last("b::0::1"))
}

func TestATaskThatWaitedRightBeforeTheAttemptWaitsAgain(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "ping", "after<ping")
	wait := snapshot.Wait{NodeID: "ping", Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitWaiting, Signal: "ping", StartedAtMs: 3}
	p.step("ping waits", p.starts("ping::0::1", snapshot.NodeWaitingEvent), []snapshot.Change{
		setRow(snapshot.CollectionWaits, snapshot.EncodeWait(wait)),
	})
	p.step("ping waits again", p.fails("ping::0::1", "timeout: nobody sent it", snapshot.NodePending), p.starts("ping::0::2", snapshot.NodeWaitingEvent))
	done := travelTo(t, s, "run", "ping::0::2")
	assert.Equal(t, stateAt(t, s, "run:1").ID(), stateAt(t, s, "run").ID())
	assert.Empty(t, done.Reset)
	assert.Equal(t, map[string]string{"ping::0::1": "waiting-event", "ping::0::2": "cancelled stepped_over"}, attemptsAt(t, s, "run"))
}

func TestATaskThatWasNotThereBeforeItsAttemptIsNotThereAnyMore(t *testing.T) {
	t.Parallel()
	s := open(t, repotest.New(t, repotest.Commit))
	p := newPlay(t, s, "run", nil, "a")
	p.run("a::0::1", "b::0::1")
	done := travelTo(t, s, "run", "b::0::1")
	assert.Equal(t, stateAt(t, s, "run:2").ID(), stateAt(t, s, "run").ID())
	assert.Empty(t, done.Reset)
	assert.Equal(t, []string{"b::0::1"}, done.Cancelled)
}
