package sqliteindex_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

func TestANodeHasTheTimeOfTheEntryThatChangedItLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	node := snapshot.Node{NodeID: "n", State: snapshot.NodePending, OutputTable: "out", Label: new("N"), Needs: []string{"m"}, RalphID: new("l")}
	other := snapshot.Node{NodeID: "m", State: snapshot.NodeFinished, LastAttempt: new(1)}
	frame0 := w.write(t, nil, w.first("a"))
	frame1 := w.write(t, frame0, stateDraft(setNode(node), setNode(other), setLoop(snapshot.Loop{RalphID: "l"})))
	node.State, node.LastAttempt = snapshot.NodeInProgress, new(1)
	frame2 := w.write(t, frame1, stateDraft(setNode(node)))
	tip := w.extend(t, frame2, frameDraft(), eventDraft(snapshot.RunRunning))
	x := w.detailed(t)

	nodes := `SELECT run_id, node_id, iteration, state, last_attempt, updated_at_ms, output_table, label, ralph_id, needs_json FROM _smithers_nodes ORDER BY node_id`
	assert.Equal(t, [][]any{
		{"a", "m", int64(0), "finished", int64(1), frame1.AtMs, "", nil, nil, "[]"},
		{"a", "n", int64(0), "in-progress", int64(1), frame2.AtMs, "out", "N", "l", `["m"]`},
	}, ask(t, x, nodes))
	assert.Equal(t, [][]any{{"a", "l", int64(0), int64(0), frame1.AtMs}},
		ask(t, x, "SELECT run_id, ralph_id, iteration, done, updated_at_ms FROM _smithers_ralph"))

	state, err := frame1.State()
	require.NoError(t, err)
	back := w.extend(t, tip, snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: state, Based: new(int64(1)), Silent: true}})
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Equal(t, [][]any{{"m", "finished", frame1.AtMs}, {"n", "pending", back.AtMs}},
		ask(t, x, "SELECT node_id, state, updated_at_ms FROM _smithers_nodes ORDER BY node_id"), "going back is a change")

	child := w.fork(t, "child", snapshot.Parent{RunID: "a", Frame: 2}, frame2, false)
	require.NoError(t, x.SyncDetails(t.Context(), "child"))
	assert.Equal(t, [][]any{{"m", child.AtMs}, {"n", child.AtMs}},
		ask(t, x, "SELECT node_id, updated_at_ms FROM _smithers_nodes WHERE run_id = 'child' ORDER BY node_id"), "a fork's rows are as old as the fork")
}

func TestDetailsOfTheMailbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a:b", w.first("a:b"), mailDraft(
		setApproval(snapshot.Approval{NodeID: "ship", Attempt: 1, Status: snapshot.ApprovalApproved, Title: "Ship it?", RequestedAtMs: 10, DecidedAtMs: new(int64(20)), DecidedBy: new("me"), Note: new("ok")}),
		setApproval(snapshot.Approval{NodeID: "ask", Iteration: 1, Attempt: 2, Status: snapshot.ApprovalRequested, Title: "T", Summary: "S", RequestedAtMs: 11}),
		setHuman(snapshot.HumanRequest{NodeID: "which", Attempt: 1, Kind: snapshot.HumanSelect, Status: snapshot.HumanAnswered, Prompt: "Which?", Form: []byte(`{"enum":["x", "y"]}`), Response: []byte(`"x"`), RequestedAtMs: 12, AnsweredAtMs: new(int64(13)), AnsweredBy: new("you"), TimeoutAtMs: new(int64(99))}),
		setSignal(snapshot.Signal{Seq: 0, Name: "ping", Payload: []byte(`{"n": 7}`), ReceivedAtMs: 14, CorrelationID: new("c"), ReceivedBy: new("cli")}),
		setWait(snapshot.Wait{NodeID: "wait", Attempt: 1, Kind: snapshot.WaitSignal, Status: snapshot.WaitReceived, Signal: "ping", AnyCorrelation: true, StartedAtMs: 9, EndedAtMs: new(int64(14)), SignalSeq: new(int64(0))}),
		setWait(snapshot.Wait{NodeID: "timer", Attempt: 1, Kind: snapshot.WaitTimer, Status: snapshot.WaitWaiting, StartedAtMs: 9, DueAtMs: new(int64(90))}),
	))
	x := w.detailed(t)
	for _, tc := range []struct {
		query string
		want  [][]any
	}{
		{"SELECT run_id, node_id, iteration, status, requested_at_ms, decided_at_ms, note, decided_by, request_json, decision_json, auto_approved, attempt FROM _smithers_approvals ORDER BY node_id", [][]any{
			{"a:b", "ask", int64(1), "requested", int64(11), nil, nil, nil, `{"mode":"decision","title":"T","summary":"S"}`, nil, int64(0), int64(2)},
			{"a:b", "ship", int64(0), "approved", int64(10), int64(20), "ok", "me", `{"mode":"decision","title":"Ship it?","summary":null}`, nil, int64(0), int64(1)},
		}},
		{"SELECT request_id, run_id, node_id, iteration, kind, status, prompt, schema_json, options_json, response_json, requested_at_ms, answered_at_ms, answered_by, timeout_at_ms FROM _smithers_human_requests", [][]any{
			{"human:a:b:which:0", "a:b", "which", int64(0), "select", "answered", "Which?", `{"enum":["x", "y"]}`, `["x", "y"]`, `"x"`, int64(12), int64(13), "you", int64(99)},
		}},
		{"SELECT run_id, seq, signal_name, correlation_id, payload_json, received_at_ms, received_by FROM _smithers_signals", [][]any{
			{"a:b", int64(0), "ping", "c", `{"n": 7}`, int64(14), "cli"},
		}},
		{"SELECT node_id, kind, status, signal_name, correlation_id, any_correlation, started_at_ms, due_at_ms, ended_at_ms, signal_seq FROM _smithers_waits ORDER BY node_id", [][]any{
			{"timer", "timer", "waiting", nil, nil, int64(0), int64(9), int64(90), nil, nil},
			{"wait", "signal", "received", "ping", nil, int64(1), int64(9), nil, int64(14), int64(0)},
		}},
	} {
		assert.Equal(t, tc.want, ask(t, x, tc.query), tc.query)
	}
}

// TestTwoRequestsMayShareAnID since node and run ids may hold what an id is put together with.
func TestTwoRequestsMayShareAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for run, node := range map[string]string{"a:b": "c", "a": "b:c"} {
		w.run(t, run, w.first(run), mailDraft(setHuman(snapshot.HumanRequest{
			NodeID: node, Attempt: 1, Kind: snapshot.HumanAsk, Status: snapshot.HumanPending, Prompt: "?",
		})))
	}
	x := w.detailed(t)

	assert.Empty(t, x.Problems())
	assert.Equal(t, [][]any{{"human:a:b:c:0", int64(2)}},
		ask(t, x, "SELECT request_id, count(*) FROM _smithers_human_requests GROUP BY 1"))
}

// TestTheAuditHasTrueFrames: Smithers wrote -1 for both.
func TestTheAuditHasTrueFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tip := w.start(t, "a", 5)
	event := w.write(t, tip, eventDraft(snapshot.RunFailed)) // not a frame
	travelled := basedDraft(2)
	travelled.Journal = []snapshot.Change{setOp(snapshot.Op{Number: 1, Kind: snapshot.OpTravel, Before: event.ID, Frame: new(int64(5)), To: new(int64(2)), NodeID: "n", Attempt: 3, NoDeps: true})}
	tip = w.write(t, event, travelled)
	undone := basedDraft(4)
	undone.Journal = []snapshot.Change{
		setOp(snapshot.Op{Number: 1, Kind: snapshot.OpTravel, Before: event.ID, Frame: new(int64(5)), To: new(int64(2)), NodeID: "n", Attempt: 3, NoDeps: true, UndoneBy: 2}),
		setOp(snapshot.Op{Number: 2, Kind: snapshot.OpUndo, Before: tip.ID, Frame: new(int64(6)), Undoes: 1}),
	}
	tip = w.write(t, tip, undone)
	attempt := snapshot.Attempt{NodeID: "n", Attempt: 1, State: snapshot.AttemptFinished, Frame: new(int64(1))}
	reverted := attemptDraft(attempt)
	reverted.Journal = append(reverted.Journal, setOp(snapshot.Op{Number: 3, Kind: snapshot.OpRevert, AtMs: 77, Before: tip.ID, NodeID: "n", Attempt: 1, Files: true}))
	w.extend(t, tip, reverted)
	x := w.detailed(t)

	assert.Equal(t, [][]any{
		{int64(1), "a", int64(4), int64(2), nil, int64(0), "success", nil, "travel"},
		{int64(2), "a", int64(5), int64(4), nil, int64(0), "success", nil, "undo"},
		{int64(3), "a", int64(6), int64(1), nil, int64(77), "success", nil, "revert"},
	}, ask(t, x, "SELECT id, run_id, from_frame_no, to_frame_no, caller, timestamp_ms, result, duration_ms, kind FROM _smithers_time_travel_audit ORDER BY id"))
	assert.Equal(t, [][]any{{int64(1), "travel", int64(5), "n", int64(0), int64(3), int64(1), int64(0), nil, int64(2), event.ID.String()}},
		ask(t, x, "SELECT op, kind, frame_no, node_id, iteration, attempt, no_deps, files, undoes, undone_by, git_before FROM _smithers_ops WHERE op = 1"))
}

func TestTheInputIsByRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.first("a")
	first.Frame.State = []snapshot.Change{setInput(`{"n": 12345678901234567890}`)}
	tip := w.run(t, "a", first)
	w.start(t, "without", 1)
	x := w.detailed(t)
	assert.Equal(t, [][]any{{"a", json.RawMessage(`{"n": 12345678901234567890}`)}}, ask(t, x, "SELECT * FROM input"))

	w.extend(t, tip, stateDraft(snapshot.Change{Op: snapshot.OpRemove, Collection: snapshot.CollectionInput}))
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Empty(t, ask(t, x, "SELECT * FROM input"))
}

func TestDetailsAreReadOnlyWhenTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, "a", 2)
	w.run(t, "b", w.first("b"), eventDraft(snapshot.RunRunning))
	x := w.index(t)

	require.NoError(t, x.Sync(t.Context()))
	assert.NoFileExists(t, detailsPath(w.indexPath()), "a list makes none")

	require.NoError(t, x.SyncDetails(t.Context(), "b"))
	assert.Equal(t, [][]any{{"b"}}, ask(t, x, "SELECT run_id FROM _smithers_runs"), "nor of any run but those that are named")
	require.NoError(t, x.SyncDetails(t.Context(), "unknown"))
	assert.Equal(t, [][]any{{"b"}}, ask(t, x, "SELECT run_id FROM _smithers_runs"))
	require.NoError(t, x.SyncDetails(t.Context()))
	assert.Len(t, ask(t, x, "SELECT run_id FROM _smithers_runs"), 2)
	rows, err := x.Runs(t.Context())
	require.NoError(t, err)
	assert.Len(t, rows, 2)
}

func TestDetailsOfARunThatIsGoneAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t, "a", w.workflowDraft("a", "w", map[string]string{"out": `{"type":"object","properties":{"x":{"type":"string"}}}`}),
		stateDraft(setOutput("out", "n", 0, `{"x":"y"}`)))
	w.start(t, "b", 1)
	x := w.detailed(t)
	require.Len(t, ask(t, x, "SELECT * FROM out"), 1)

	w.dropTip(t, "a")
	require.NoError(t, x.SyncDetails(t.Context(), "a"))

	for _, table := range []string{"_index_details", "_index_outputs", "_smithers_output_schema_columns"} {
		assert.Empty(t, ask(t, x, "SELECT * FROM "+table+" WHERE "+map[string]string{
			"_index_details": "run_id = 'a'", "_index_outputs": "run_id = 'a'", "_smithers_output_schema_columns": "true",
		}[table]), table)
	}
	_, err := x.Query(t.Context(), "SELECT * FROM out")
	require.ErrorIs(t, err, sqliteindex.ErrQuery, "nobody's schema asks for the table any more")
}
