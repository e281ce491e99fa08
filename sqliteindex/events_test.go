package sqliteindex_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func event(kind string, atMs int64, payload string) snapshot.Event {
	return snapshot.Event{Type: kind, AtMs: atMs, Payload: json.RawMessage(payload)}
}

func seqs(events []sqliteindex.EventRow) (out []int64) {
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

func TestEventsAreFoundByWhatIsAskedOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.run(t, "a", w.first("a"),
		snapshot.Draft{Events: []snapshot.Event{
			event("RunStarted", 10, `{"runId":"a"}`), event("NodeStarted", 20, `{"runId":"a","nodeId":"n","iteration":0,"attempt":1}`),
		}},
		snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Events: []snapshot.Event{
			event("NodeFinished", 30, `{"runId":"a","nodeId":"n"}`), event("NodeStarted", 40, `{"runId":"a","nodeId":"m"}`), event("RunFinished", 50, `{}`),
		}},
	)
	w.run(t, "b", w.first("b"), eventDraft(snapshot.RunRunning))
	x := w.detailed(t)
	for _, tc := range []struct {
		name  string
		query sqliteindex.EventQuery
		want  []int64
	}{
		{"all, from 0 and without gaps", sqliteindex.EventQuery{}, []int64{0, 1, 2, 3, 4}},
		{"after a seq", sqliteindex.EventQuery{After: new(int64(2))}, []int64{3, 4}},
		{"after the one before the first", sqliteindex.EventQuery{After: new(int64(-1))}, []int64{0, 1, 2, 3, 4}},
		{"of a type", sqliteindex.EventQuery{Types: []string{"NodeStarted"}}, []int64{1, 3}},
		{"of one of two types", sqliteindex.EventQuery{Types: []string{"NodeStarted", "RunFinished"}}, []int64{1, 3, 4}},
		{"about a node", sqliteindex.EventQuery{Node: "n"}, []int64{1, 2}},
		{"not before a time", sqliteindex.EventQuery{SinceMs: 30}, []int64{2, 3, 4}},
		{"the first so many", sqliteindex.EventQuery{Limit: 2}, []int64{0, 1}},
		{"all of that at once", sqliteindex.EventQuery{After: new(int64(0)), Types: []string{"NodeStarted", "NodeFinished"}, Node: "n", SinceMs: 20, Limit: 1}, []int64{1}},
		{"nothing", sqliteindex.EventQuery{Types: []string{"Nothing"}}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.query.RunID = "a"
			events, err := x.Events(t.Context(), tc.query)
			require.NoError(t, err)
			assert.Equal(t, tc.want, seqs(events))
			count, err := x.CountEvents(t.Context(), tc.query)
			require.NoError(t, err)
			assert.Equal(t, int64(len(tc.want)), count, "and so many are counted")
		})
	}
	t.Run("a fork counts from 0 and has events of its own alone", func(t *testing.T) {
		t.Parallel()
		child := w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 1}, tip, false)
		w.extend(t, child, snapshot.Draft{Events: []snapshot.Event{event("RunForked", 60, `{}`)}})
		other := w.indexAt(t, t.TempDir()+"/other.db")
		require.NoError(t, other.SyncDetails(t.Context(), "child"))
		events, err := other.Events(t.Context(), sqliteindex.EventQuery{RunID: "child"})
		require.NoError(t, err)
		require.Len(t, events, 1)
		assert.Equal(t, int64(0), events[0].Seq)
	})
}

func TestAnEventsPayloadIsAsSmithersSpellsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a", w.first("a"), snapshot.Draft{Events: []snapshot.Event{
		event("NodeStarted", 10, `{"runId":"a","nodeId":"n","iteration":0}`),
		event("Odd\n", 20, `{"n":12345678901234567890,"nodeId":7}`),
		event("Bare", 30, `{}`),
	}})
	x := w.detailed(t)

	events, err := x.Events(t.Context(), sqliteindex.EventQuery{RunID: "a"})

	require.NoError(t, err)
	assert.Equal(t, []sqliteindex.EventRow{
		{RunID: "a", Seq: 0, TimestampMs: 10, Type: "NodeStarted", Payload: `{"type":"NodeStarted","runId":"a","nodeId":"n","iteration":0,"timestampMs":10}`},
		{RunID: "a", Seq: 1, TimestampMs: 20, Type: "Odd\n", Payload: `{"type":"Odd\n","runId":"a","n":12345678901234567890,"nodeId":7,"timestampMs":20}`},
		{RunID: "a", Seq: 2, TimestampMs: 30, Type: "Bare", Payload: `{"type":"Bare","runId":"a","timestampMs":30}`},
	}, events)
}

func TestSignalsAreFoundByWhatIsAskedOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.write(t, nil, w.first("a"))
	for seq, s := range []snapshot.Signal{
		{Name: "ping", CorrelationID: new("c"), ReceivedAtMs: 10},
		{Name: "ping", ReceivedAtMs: 30, ReceivedBy: new("me")},
		{Name: "pong", CorrelationID: new("c"), ReceivedAtMs: 20},
		{Name: "ping", CorrelationID: new(""), ReceivedAtMs: 40},
	} {
		s.Seq, s.Payload = int64(seq), json.RawMessage(`{"n": 1}`)
		tip = w.write(t, tip, mailDraft(setSignal(s)))
	}
	w.setTip(t, "a", tip.ID)
	x := w.detailed(t)
	for _, tc := range []struct {
		name  string
		query sqliteindex.SignalQuery
		want  []int64
	}{
		{"all, in order", sqliteindex.SignalQuery{}, []int64{0, 1, 2, 3}},
		{"by name", sqliteindex.SignalQuery{Name: "ping"}, []int64{0, 1, 3}},
		{"by correlation id", sqliteindex.SignalQuery{Correlated: true, CorrelationID: new("c")}, []int64{0, 2}},
		{"by the empty correlation id", sqliteindex.SignalQuery{Correlated: true, CorrelationID: new("")}, []int64{3}},
		{"without a correlation id", sqliteindex.SignalQuery{Correlated: true}, []int64{1}},
		{"received at a time or later", sqliteindex.SignalQuery{AfterMs: new(int64(20))}, []int64{1, 2, 3}},
		{"the first so many", sqliteindex.SignalQuery{Limit: 2}, []int64{0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.query.RunID = "a"
			signals, err := x.Signals(t.Context(), tc.query)
			require.NoError(t, err)
			var got []int64
			for _, s := range signals {
				got = append(got, s.Seq)
			}
			assert.Equal(t, tc.want, got)
		})
	}
	t.Run("as they came", func(t *testing.T) {
		t.Parallel()
		signals, err := x.Signals(t.Context(), sqliteindex.SignalQuery{RunID: "a", Correlated: true})
		require.NoError(t, err)
		assert.Equal(t, []sqliteindex.SignalRow{{
			RunID: "a", Seq: 1, Name: "ping", Payload: `{"n": 1}`, ReceivedAtMs: 30, ReceivedBy: new("me"),
		}}, signals)
	})
}

func TestSignalsAreListedByTwoHundredUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var signals []snapshot.Change
	for seq := range int64(sqliteindex.DefaultSignalLimit + 50) {
		signals = append(signals, setSignal(snapshot.Signal{Seq: seq, Name: "ping", Payload: []byte(`1`), ReceivedAtMs: seq}))
	}
	w.run(t, "a", w.first("a"), mailDraft(signals...))
	x := w.detailed(t)
	for limit, want := range map[int]int{0: 200, 10: 10, 1000: 250} {
		got, err := x.Signals(t.Context(), sqliteindex.SignalQuery{RunID: "a", Limit: limit})
		require.NoError(t, err)
		assert.Len(t, got, want)
	}
}

func TestTheInboxIsWhatWaitsForPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status := func(s snapshot.RunStatus) snapshot.Draft { return eventDraft(s) }
	approval := snapshot.Approval{NodeID: "ship", Attempt: 1, Status: snapshot.ApprovalRequested, Title: "Ship it?", Summary: "S", RequestedAtMs: 30}
	request := snapshot.HumanRequest{NodeID: "ask", Iteration: 2, Attempt: 1, Kind: snapshot.HumanJSON, Status: snapshot.HumanPending, Prompt: "What?", Form: []byte(`{"type":"object"}`), RequestedAtMs: 20, TimeoutAtMs: new(int64(90))}
	settled := snapshot.Approval{NodeID: "done", Attempt: 1, Status: snapshot.ApprovalDenied, Title: "D", RequestedAtMs: 1, DecidedAtMs: new(int64(2))}
	a := w.run(t, "a", w.first("a"), stateDraft(setNode(snapshot.Node{NodeID: "ship", State: snapshot.NodeWaitingApproval, Label: new("Ship")})),
		mailDraft(setApproval(approval), setHuman(request), setApproval(settled)), status(snapshot.RunWaitingApproval))
	waiting := w.run(t, "b", w.first("b"), mailDraft(setApproval(approval)), status(snapshot.RunWaitingApproval))
	w.run(t, "ended", w.first("ended"), mailDraft(setApproval(approval)), status(snapshot.RunFailed))
	undone := w.fork(t, "undone", snapshot.Parent{RunID: "b", Frame: 0}, waiting, true)
	w.extend(t, undone, snapshot.Draft{Run: func(r *snapshot.Run) { r.Parent.Undone = true }})
	x := w.detailed(t)
	ofA := []sqliteindex.InboxRow{
		{
			RunID: "a", WorkflowName: "triage", RunStatus: "waiting-approval", Tip: a.ID, NodeID: "ask", Iteration: 2, Kind: "json", Status: "pending",
			RequestID: "human:a:ask:2", Prompt: "What?", Form: new(`{"type":"object"}`), RequestedAtMs: 20, TimeoutAtMs: new(int64(90)),
		},
		{
			RunID: "a", WorkflowName: "triage", RunStatus: "waiting-approval", Tip: a.ID, NodeID: "ship", NodeLabel: new("Ship"), Kind: "approval",
			Status: "requested", Prompt: "Ship it?", Summary: "S", RequestedAtMs: 30,
		},
	}
	inbox := func(q sqliteindex.InboxQuery) []sqliteindex.InboxRow {
		rows, err := x.Inbox(t.Context(), q)
		require.NoError(t, err)
		return rows
	}

	assert.Equal(t, ofA, inbox(sqliteindex.InboxQuery{RunID: "a"}))
	all := inbox(sqliteindex.InboxQuery{})
	require.Len(t, all, 3, "the oldest first, then by run")
	assert.Equal(t, ofA, all[:2])
	assert.Equal(t, "b", all[2].RunID)
	settledToo := inbox(sqliteindex.InboxQuery{RunID: "a", All: true})
	require.Len(t, settledToo, 3)
	assert.Equal(t, "denied", settledToo[0].Status)
	assert.Len(t, inbox(sqliteindex.InboxQuery{All: true}), 6)
	assert.Empty(t, inbox(sqliteindex.InboxQuery{RunID: "ended"}))
}
