package smithers_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// decided is when something is approved here.
const decided = 1795199900000

// does appends what a command of ours does in a run: a row of the mailbox with its event.
func (h *home) does(run, collection, key string, value []byte, event snapshot.Event) {
	h.t.Helper()
	head, err := h.Head(h.t.Context(), run)
	require.NoError(h.t, err)
	series := timeline.SeriesOf(head)
	defer series.Close()
	_, err = series.Append(h.t.Context(), snapshot.Draft{
		Mailbox: []snapshot.Change{{Op: snapshot.OpSet, Collection: collection, Key: key, Value: value}},
		Events:  []snapshot.Event{event}, Subject: event.Type, AtMs: event.AtMs,
	})
	require.NoError(h.t, err)
	_, err = series.Commit(h.t.Context())
	require.NoError(h.t, err)
}

// sends sends a signal to the run that waits, here.
func (h *home) sends(name string, atMs int64) {
	h.t.Helper()
	h.sendsTo(replayRun, name, atMs)
}

func (h *home) sendsTo(run, name string, atMs int64) {
	h.t.Helper()
	signals := stateOf(h.t, h.entry(run)).Signals()
	row := snapshot.EncodeSignal(snapshot.Signal{Seq: int64(signals.Len()), Name: name, Payload: []byte(`{"a":1}`), ReceivedAtMs: atMs})
	h.does(run, snapshot.CollectionSignals, row.Key, row.Value, snapshot.Event{
		Type: "SignalReceived", AtMs: atMs, Payload: fmt.Appendf(nil, `{"runId":%q,"signalName":%q}`, run, name),
	})
}

// approves approves what the task ship asks, here.
func (h *home) approves() {
	h.t.Helper()
	key := snapshot.Key("ship", 0)
	value, ok, err := stateOf(h.t, h.entry(replayRun)).Approvals().Get(key)
	require.NoError(h.t, err)
	require.True(h.t, ok)
	asked, err := snapshot.DecodeApproval(page.Row{Key: key, Value: value})
	require.NoError(h.t, err)
	asked.Status, asked.DecidedAtMs = snapshot.ApprovalApproved, new(int64(decided))
	row := snapshot.EncodeApproval(asked)
	h.does(replayRun, snapshot.CollectionApprovals, row.Key, row.Value, snapshot.Event{
		Type: "ApprovalGranted", AtMs: decided, Payload: fmt.Appendf(nil, `{"runId":%q,"nodeId":"ship","iteration":0,"attempt":1}`, replayRun),
	})
}

// signalRow is a signal that Smithers gets.
func signalRow(seq int, name string, atMs int64) string {
	return fmt.Sprintf(`INSERT INTO _smithers_signals (run_id, seq, signal_name, correlation_id, payload_json, received_at_ms) VALUES
		('%s', %d, '%s', NULL, '{"b":2}', %d)`, replayRun, seq, name, atMs)
}

// granted is the approval of the task ship, in Smithers' database.
func granted(atMs int64) string {
	return fmt.Sprintf(`UPDATE _smithers_approvals SET status = 'approved', requested_at_ms = NULL, decided_at_ms = %[2]d
			WHERE run_id = '%[1]s' AND node_id = 'ship';
		INSERT INTO _smithers_events SELECT run_id, max(seq) + 1, %[2]d, 'ApprovalGranted',
			'{"type":"ApprovalGranted","runId":"%[1]s","nodeId":"ship","iteration":0,"timestampMs":%[2]d}'
			FROM _smithers_events WHERE run_id = '%[1]s'`, replayRun, atMs)
}

// takes imports the run that waits, and requires that it succeeds.
func (h *home) takes(path string) smithers.ImportedRun {
	h.t.Helper()
	run := h.take(path, replayRun)[replayRun]
	require.NoError(h.t, run.Err)
	return run
}

// gives exports the run that waits to a new database.
func (h *home) gives() string {
	h.t.Helper()
	to := filepath.Join(h.t.TempDir(), "out.db")
	_, err := smithers.Export(h.t.Context(), h.Store, smithers.ExportRequest{Runs: []string{replayRun}, To: to, Root: fixtureRoot})
	require.NoError(h.t, err)
	return to
}

// signals are the names of its signals by their numbers.
func (h *home) signals() map[int64]string { return h.signalsOf(replayRun) }

func (h *home) signalsOf(run string) map[int64]string {
	h.t.Helper()
	names := make(map[int64]string)
	for s, err := range stateOf(h.t, h.entry(run)).AllSignals() {
		require.NoError(h.t, err)
		names[s.Seq] = s.Name
	}
	return names
}

func TestASignalThatWasSentHereKeepsItsNumberWhenSmithersGetsOthers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.sends("here", 1795199900000)
	for i, name := range []string{"first", "second"} {
		require.NoError(t, sourcetest.Exec(t.Context(), path, signalRow(40+i, name, 1795199900001+int64(i))))
		h.takes(path)
	}
	assert.Equal(t, map[int64]string{0: "here", 1: "first", 2: "second"}, h.signals())
	assert.Equal(t, [][]string{{"40", "first"}, {"41", "second"}, {"42", "here"}},
		query(t, h.gives(), `SELECT seq, signal_name FROM _smithers_signals ORDER BY seq`), "Smithers' numbers are Smithers'")
}

func TestASignalThatSmithersIsToldAmongOthersIsThereOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.sends("here", 1795199900000)
	require.NoError(t, sourcetest.Exec(t.Context(), path, signalRow(40, "first", 1795199900001)))
	h.takes(path)
	require.NoError(t, sourcetest.Exec(t.Context(), path, signalRow(41, "here", 1795199900002)+
		`; UPDATE _smithers_signals SET payload_json = '{"a":1}' WHERE seq = 41`))
	h.takes(path)
	assert.Equal(t, map[int64]string{0: "first", 1: "here"}, h.signals())

	require.NoError(t, sourcetest.Exec(t.Context(), path, signalRow(42, "second", 1795199900003)))
	h.takes(path)
	assert.Equal(t, map[int64]string{0: "first", 1: "here", 2: "second"}, h.signals())
	h.exactRun(path, replayRun)
}

func TestOfSignalsThatAreAlikeSmithersIsToldAsManyAsItHas(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.sends("here", 1795199900000)
	h.sends("here", 1795199900001)
	for number, untold := range []bool{true, false} {
		require.NoError(t, sourcetest.Exec(t.Context(), path, strings.ReplaceAll(
			signalRow(40+number, "here", 1795199900002+int64(number)), `{"b":2}`, `{"a":1}`)))
		for range 2 {
			require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_nodes SET updated_at_ms = updated_at_ms + 1`))
			h.takes(path)
			assert.Len(t, h.signals(), 2)
			head, err := h.Head(t.Context(), replayRun)
			require.NoError(t, err)
			of, err := smithers.ReadUntold(h.Store, head)
			require.NoError(t, err)
			_, is := of.Signal("here", nil)
			assert.Equal(t, untold, is)
		}
	}
	h.exactRun(path, replayRun)
}

func TestEventsOfOursAndOfSmithersAreExportedUnderNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.approves()
	require.NoError(t, sourcetest.Exec(t.Context(), path, granted(1795199900001)))
	h.takes(path)
	h.exactRun(path, replayRun)
	h.sends("here", 1795199900002)
	to := h.gives()
	assert.Equal(t, value(t, path, `SELECT max(seq) + 2 FROM _smithers_events WHERE run_id = ?`, replayRun), value(t, to, `SELECT max(seq) FROM _smithers_events`))
	assert.Equal(t, [][]string{{"1795199900000", "ApprovalGranted"}, {"1795199900001", "ApprovalGranted"}, {"1795199900002", "SignalReceived"}},
		query(t, to, `SELECT timestamp_ms, type FROM _smithers_events WHERE timestamp_ms >= 1795199900000 ORDER BY seq`))
}

func TestADatabaseThatSaysNothingButWhatWasExportedChangesNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.approves()
	first := h.gives()
	h.sends("here", 1795199900001)
	second := h.gives()
	tip := h.entry(replayRun).ID
	for _, path := range []string{first, second} {
		assert.Equal(t, smithers.OutcomeUnchanged, h.takes(path).Outcome)
		assert.Equal(t, tip, h.entry(replayRun).ID)
	}
	require.NoError(t, sourcetest.Exec(t.Context(), path, granted(1795199900002)))
	assert.Equal(t, smithers.OutcomeContinued, h.takes(path).Outcome, "Smithers' own is the run's still")
	assert.Equal(t, smithers.OutcomeUnchanged, h.takes(first).Outcome, "and what was exported says nothing new")
}

func TestAnExportedRunThatSmithersEndedIsContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.takes(copyOf(t, gitFixture))
	h.approves()
	path := h.gives()
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_runs SET status = 'cancelled'`))
	assert.Equal(t, smithers.OutcomeContinued, h.takes(path).Outcome)
	row, err := h.entry(replayRun).RunRow()
	require.NoError(t, err)
	assert.Equal(t, snapshot.RunCancelled, row.Status)
}

func TestEventsThatWereExportedComeBackOnce(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.approves()
	require.NoError(t, sourcetest.Exec(t.Context(), path, granted(1795199900001)))
	h.takes(path)
	h.sends("here", 1795199900002)
	resumed := h.gives()
	h.sends("later", 1795199900003)
	require.NoError(t, sourcetest.Exec(t.Context(), resumed, `UPDATE _smithers_runs SET status = 'running', finished_at_ms = NULL;
		INSERT INTO _smithers_events SELECT run_id, max(seq) + 1, 1795199900004, 'RunStarted',
			'{"type":"RunStarted","runId":"`+replayRun+`","timestampMs":1795199900004}' FROM _smithers_events`))
	h.takes(resumed)
	assert.Equal(t, []string{
		"1795199900000 ApprovalGranted", "1795199900001 ApprovalGranted", "1795199900002 SignalReceived",
		"1795199900003 SignalReceived", "1795199900004 RunStarted",
	}, h.eventsSince(decided))
}

// eventsSince are the events of the run that waits since a time, in their order.
func (h *home) eventsSince(atMs int64) (out []string) {
	h.t.Helper()
	for entry, err := range h.Chain(h.entry(replayRun)) {
		require.NoError(h.t, err)
		events, err := entry.Events()
		require.NoError(h.t, err)
		var own []string
		for _, e := range events {
			if e.AtMs >= atMs {
				own = append(own, fmt.Sprint(e.AtMs, " ", e.Type))
			}
		}
		out = append(own, out...)
	}
	return out
}

func TestAnAnswerToWhichSmithersHasAnotherIsToldOnce(t *testing.T) {
	t.Parallel()
	for there, want := range map[string][]smithers.OverruledAnswer{
		"approved": nil,
		"denied":   {{NodeID: "ship", RequestKind: "approval", Here: "approved", Smithers: "denied"}},
	} {
		t.Run(there, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := copyOf(t, gitFixture)
			h.takes(path)
			h.approves()
			assert.Empty(t, h.takes(path).Overruled, "Smithers still asks")
			require.NoError(t, sourcetest.Exec(t.Context(), path, strings.ReplaceAll(granted(decided+1), "'approved'", "'"+there+"'")))
			assert.Equal(t, want, h.takes(path).Overruled)
			assert.Empty(t, h.takes(path).Overruled)
			is, ok, err := stateOf(t, h.entry(replayRun)).Approvals().Get(snapshot.Key("ship", 0))
			require.NoError(t, err)
			require.True(t, ok)
			assert.Contains(t, string(is), `"status":"`+there+`"`)
		})
	}
}

func TestADatabaseThatLacksWhatWasImportedSinceItWasExportedIsRefused(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.approves()
	exported := h.gives()
	require.NoError(t, sourcetest.Exec(t.Context(), path, strings.ReplaceAll(granted(decided+1), "'approved'", "'denied'")))
	require.Len(t, h.takes(path).Overruled, 1)
	tip := h.entry(replayRun).ID

	require.NoError(t, sourcetest.Exec(t.Context(), exported, signalRow(41, "went on", decided+2)+
		fmt.Sprintf(`; INSERT INTO _smithers_events SELECT run_id, max(seq) + 1, %d, 'SignalReceived', '{}' FROM _smithers_events WHERE run_id = '%s'`,
			decided+2, replayRun)))
	err := h.take(exported, replayRun)[replayRun].Err
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(err), "%v", err)
	assert.Equal(t, tip, h.entry(replayRun).ID)
	assert.Equal(t, smithers.OutcomeUnchanged, h.takes(path).Outcome)
}

// goesOn has Smithers write an event in a database.
func goesOn(t *testing.T, path string, atMs int64) {
	t.Helper()
	require.NoError(t, sourcetest.Exec(t.Context(), path, fmt.Sprintf(`INSERT INTO _smithers_events SELECT run_id, max(seq) + 1, %[2]d, 'RunStarted',
		'{"type":"RunStarted","runId":"%[1]s","timestampMs":%[2]d}' FROM _smithers_events WHERE run_id = '%[1]s'`, replayRun, atMs)))
}

func TestADatabaseThatTheRunWasExportedToGoesOnWithAnswersOnBothSidesOfIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture)
	h.takes(path)
	h.sends("here", decided)
	goesOn(t, path, decided+1)
	h.takes(path)
	exported := h.gives()
	goesOn(t, exported, decided+2)
	h.takes(exported)
	h.sends("later", decided+3)
	goesOn(t, exported, decided+4)
	h.takes(exported)
	err := h.take(path, replayRun)[replayRun].Err
	assert.Equal(t, fault.ImportRefused, fault.CodeOf(err), "the one that it came from lacks what was added since: %v", err)
}

func TestADatabaseThatAnotherCloneExportedHasEachEventOnce(t *testing.T) {
	t.Parallel()
	a, b := newHome(t), newHome(t)
	path := copyOf(t, gitFixture)
	a.takes(path)
	a.sends("here", decided)
	goesOn(t, path, decided+1)
	goesOn(t, path, decided+2)
	a.takes(path)
	b.takes(path)
	exported := a.gives()
	for i := range int64(3) {
		b.takes(exported)
		want := []string{"1795199900000 SignalReceived"}
		for at := int64(1); at < 3+i; at++ {
			want = append(want, fmt.Sprint(decided+at, " RunStarted"))
		}
		assert.ElementsMatch(t, want, b.eventsSince(decided))
		goesOn(t, exported, decided+3+i)
	}
}

// asks is a question that Smithers asks.
func asks(id string, atMs int64) string {
	return fmt.Sprintf(`INSERT INTO _smithers_human_requests (request_id, run_id, node_id, iteration, kind, status, prompt, requested_at_ms, timeout_at_ms)
		VALUES ('%s', '%s', 'q', 0, 'ask', 'pending', 'why', %d, 1795199900001)`, id, replayRun, atMs)
}

// cancels cancels the question q, here.
func (h *home) cancels() {
	h.t.Helper()
	key := snapshot.Key("q", 0)
	value, ok, err := stateOf(h.t, h.entry(replayRun)).HumanRequests().Get(key)
	require.NoError(h.t, err)
	require.True(h.t, ok)
	asked, err := snapshot.DecodeHumanRequest(page.Row{Key: key, Value: value})
	require.NoError(h.t, err)
	asked.Status, asked.AnsweredAtMs = snapshot.HumanCancelled, new(int64(decided))
	row := snapshot.EncodeHumanRequest(asked)
	h.does(replayRun, snapshot.CollectionHumanRequests, row.Key, row.Value, snapshot.Event{
		Type: "HumanRequestCancelled", AtMs: decided, Payload: fmt.Appendf(nil, `{"runId":%q,"nodeId":"q","iteration":0}`, replayRun),
	})
}

func TestARequestThatIsCancelledHereAndThereIsNotOverruled(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture, asks("human:q", 1795199229000))
	h.takes(path)
	h.cancels()
	require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_human_requests SET status = 'cancelled', answered_at_ms = 1795199900001`))
	run := h.takes(path)
	assert.Empty(t, run.Overruled)
	assert.Empty(t, run.Dropped)
}

func TestAnAnswerToWhatSmithersDoesNotAskAnyMoreIsToldOnce(t *testing.T) {
	t.Parallel()
	approval := smithers.DroppedAnswer{NodeID: "ship", RequestKind: "approval", Here: "approved"}
	approvalAgain, question := approval, smithers.DroppedAnswer{NodeID: "q", RequestKind: "ask", Here: "cancelled"}
	approvalAgain.AskedAgain = true
	questionAgain := question
	questionAgain.AskedAgain = true
	for name, c := range map[string]struct {
		then      string
		dropped   []smithers.DroppedAnswer
		overruled []smithers.OverruledAnswer
	}{
		"still asked": {`UPDATE _smithers_nodes SET updated_at_ms = updated_at_ms + 1`, nil, nil},
		"gone": {
			`DELETE FROM _smithers_approvals; DELETE FROM _smithers_human_requests`,
			[]smithers.DroppedAnswer{question, approval},
			nil,
		},
		"asked again": {
			`UPDATE _smithers_approvals SET requested_at_ms = requested_at_ms + 5; UPDATE _smithers_human_requests SET requested_at_ms = requested_at_ms + 5`,
			[]smithers.DroppedAnswer{questionAgain, approvalAgain},
			nil,
		},
		"another question beside it": {asks("human:another", 1795199229005), []smithers.DroppedAnswer{questionAgain}, nil},
		"expired": {
			`UPDATE _smithers_human_requests SET status = 'expired'`, nil,
			[]smithers.OverruledAnswer{{NodeID: "q", RequestKind: "ask", Here: "cancelled", Smithers: "expired"}},
		},
		"expired, and another question": {
			`UPDATE _smithers_human_requests SET status = 'expired'; ` + asks("human:another", 1795199229005), nil,
			[]smithers.OverruledAnswer{{NodeID: "q", RequestKind: "ask", Here: "cancelled", Smithers: "expired"}},
		},
		"decided at another time": {
			`UPDATE _smithers_approvals SET status = 'denied', requested_at_ms = requested_at_ms + 5, decided_at_ms = requested_at_ms + 6`, nil,
			[]smithers.OverruledAnswer{{NodeID: "ship", RequestKind: "approval", Here: "approved", Smithers: "denied"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			path := copyOf(t, gitFixture, asks("human:q", 1795199229000))
			h.takes(path)
			h.approves()
			h.cancels()
			require.NoError(t, sourcetest.Exec(t.Context(), path, c.then))
			run := h.takes(path)
			assert.Equal(t, c.dropped, run.Dropped)
			assert.Equal(t, c.overruled, run.Overruled)
			require.NoError(t, sourcetest.Exec(t.Context(), path, `UPDATE _smithers_nodes SET updated_at_ms = updated_at_ms + 1`))
			run = h.takes(path)
			assert.Empty(t, run.Dropped)
			assert.Empty(t, run.Overruled)
			is := stateOf(t, h.entry(replayRun))
			for a, err := range is.AllApprovals() {
				require.NoError(t, err)
				lost := len(c.dropped) > 1 || len(c.overruled) > 0 && c.overruled[0].NodeID == "ship"
				assert.Equal(t, !lost, a.Status == "approved")
			}
			for q, err := range is.AllHumanRequests() {
				require.NoError(t, err)
				lost := len(c.dropped) > 0 || len(c.overruled) > 0 && c.overruled[0].NodeID == "q"
				assert.Equal(t, !lost, q.Status == "cancelled")
			}
		})
	}
}

func TestARunWithoutAnswersThatAnswerSomethingIsAsItWasImported(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	path := copyOf(t, gitFixture, asks("human:q", 1795199229000))
	h.takes(path)
	h.cancels()
	require.NoError(t, sourcetest.Exec(t.Context(), path, asks("human:another", 1795199229005)))
	require.Len(t, h.takes(path).Dropped, 1)
	h.exactRun(path, replayRun)
}
