package smithers_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allCalls reads everything that a database has of tool calls.
const allCalls = `SELECT * FROM _smithers_tool_calls ORDER BY run_id, node_id, iteration, attempt, seq`

// calls returns the tool calls in the journal of an entry.
func calls(t *testing.T, entry *snapshot.Entry) (all []snapshot.ToolCall) {
	t.Helper()
	for c, err := range entry.AllToolCalls() {
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

func TestToolCallsOfSmithersAreImportedAndComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "calls-scores-human.db")
	w.importAll()
	head, err := w.store.Head(t.Context(), "m2")
	require.NoError(t, err)
	all := calls(t, head.Entry())
	require.Len(t, all, 5)
	var bad snapshot.ToolCall
	for _, c := range all {
		if c.ToolName == "bad" {
			bad = c
		}
	}
	assert.Equal(t, snapshot.ToolCallUnknown, bad.Status, "a tool that throws may have had its effect")
	assert.JSONEq(t, `{"q":"y"}`, string(bad.Input))
	assert.JSONEq(t, `{"name":"Error","message":"tool boom"}`, string(bad.Error), "no folder of a machine is in the journal")
	for entry, err := range w.store.Chain(head.Entry()) { // an earlier entry has no call that began after it
		require.NoError(t, err)
		for _, c := range calls(t, entry) {
			assert.LessOrEqual(t, c.StartedAtMs, entry.AtMs)
			assert.True(t, c.FinishedAtMs == nil || *c.FinishedAtMs <= entry.AtMs)
		}
	}

	to := filepath.Join(t.TempDir(), "smithers.db")
	exported, err := smithers.Export(t.Context(), w.store, smithers.ExportRequest{To: to, Root: "/srv/model/w"})
	require.NoError(t, err)
	for _, run := range exported.Runs {
		assert.True(t, run.Exact, run.RunID)
	}
	assert.Equal(t, query(t, w.source, allCalls), query(t, to, allCalls))
	assertSound(t, to)

	tip := w.tip("m2")
	w.importAll()
	assert.Equal(t, tip, w.tip("m2"), "the same database again changes nothing")
}

func TestToolCallsOfOursAreExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jjFixture)
	var journal []snapshot.Change
	for attempt := range 2 {
		journal = append(journal, snapshot.SetToolCall(snapshot.ToolCall{
			NodeID: "n", Attempt: attempt + 1, Seq: 1, ToolName: "bash", Kind: snapshot.ToolCallTool, Status: snapshot.ToolCallFailed, CallToken: "1",
			StartedAtMs: 5, FinishedAtMs: new(int64(7)), Input: []byte(`{"command":"make"}`), Error: []byte(`"no"`), SideEffect: new(true),
		}))
	}
	_, err := w.store.Create(t.Context(), snapshot.Run{ID: "ours", Status: snapshot.RunRunning, CreatedAtMs: 1}, snapshot.Draft{Journal: journal})
	require.NoError(t, err)
	to, _ := w.export("ours")
	assert.Equal(t, [][]string{
		{"n", "1", "1", "ours/n::0::1::1", "bash", `{"command":"make"}`, "", "unknown", `"no"`, "tool", "1", ""},
		{"n", "2", "1", "ours/n::0::2::1", "bash", `{"command":"make"}`, "", "unknown", `"no"`, "tool", "1", ""},
	}, query(t, to, `SELECT node_id, attempt, seq, call_token, tool_name, input_json, output_json, status, error_json, kind, side_effect, idempotent
		FROM _smithers_tool_calls ORDER BY attempt`), "tokens are unique in a database, and a call that failed may have had its effect")
	assertSound(t, to)
}
