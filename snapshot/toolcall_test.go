package snapshot_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// startRun writes frame 0 of the run "r".
func startRun(t *testing.T, w objstore.Writer) *snapshot.Entry {
	t.Helper()
	e, err := snapshot.Append(w, nil, nil, snapshot.Draft{
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{node(snapshot.NewNode("a", snapshot.NodePending))}, Silent: true},
		Run:   func(r *snapshot.Run) { *r = snapshot.Run{ID: "r", Status: snapshot.RunRunning} },
	})
	require.NoError(t, err)
	return e
}

// journaled appends an entry with changes of the journal, and reads the entry again.
func journaled(t *testing.T, w objstore.Writer, prev *snapshot.Entry, changes ...snapshot.Change) *snapshot.Entry {
	t.Helper()
	e, err := snapshot.Append(w, nil, prev, snapshot.Draft{Journal: changes})
	require.NoError(t, err)
	e, err = snapshot.ReadEntry(w, e.ID)
	require.NoError(t, err)
	return e
}

// callsOf returns the tool calls in the journal of an entry.
func callsOf(t *testing.T, e *snapshot.Entry) []snapshot.ToolCall {
	t.Helper()
	var calls []snapshot.ToolCall
	for c, err := range e.AllToolCalls() {
		require.NoError(t, err)
		calls = append(calls, c)
	}
	return calls
}

func TestToolCallsAreInTheJournal(t *testing.T) {
	t.Parallel()
	store := new(objstoretest.Memory)
	first := startRun(t, store)
	assert.Empty(t, callsOf(t, first))
	large := json.RawMessage(`{"text": "` + strings.Repeat("x", 20<<10) + `"}`)
	intended := snapshot.ToolCall{NodeID: "a", Attempt: 1, Seq: 1, ToolName: "bash", Status: snapshot.ToolCallIntended, StartedAtMs: 5, Input: large}
	called := journaled(t, store, first, snapshot.SetToolCall(intended))
	assert.Equal(t, []snapshot.ToolCall{intended}, callsOf(t, called))
	assert.Equal(t, first.ContentHash, called.ContentHash)

	ended := intended
	ended.Status, ended.FinishedAtMs, ended.Output = snapshot.ToolCallSucceeded, new(int64(7)), json.RawMessage("[1.0,\n2]")
	other := snapshot.ToolCall{
		NodeID: "a::b", Iteration: 2, Attempt: 3, ToolName: "a::b", Kind: snapshot.ToolCallTask, Status: snapshot.ToolCallUnknown, SideEffect: new(true),
		OutputAt: &snapshot.TranscriptRange{Transcript: "t", Offset: 3, Length: 4},
	}
	called = journaled(t, store, called, snapshot.SetToolCall(ended), snapshot.SetToolCall(other))
	assert.Equal(t, []snapshot.ToolCall{ended, other}, callsOf(t, called))

	traveled, err := snapshot.Append(store, nil, called, snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: snapshot.EmptyState()}})
	require.NoError(t, err)
	assert.Equal(t, []snapshot.ToolCall{ended, other}, callsOf(t, traveled), "a travel does not take calls back")
	forked, err := snapshot.Append(store, nil, traveled, snapshot.Draft{Run: func(r *snapshot.Run) {
		*r = snapshot.Run{ID: "c", Status: snapshot.RunPending, Parent: &snapshot.Parent{RunID: "r", Frame: 1, Commit: traveled.ID}}
	}})
	require.NoError(t, err)
	assert.Equal(t, []snapshot.ToolCall{ended, other}, callsOf(t, forked), "a fork begins with the calls of its parent")
}

func TestALargeInputOfAToolCallIsStoredOnce(t *testing.T) {
	t.Parallel()
	store := &recorder{seen: make(map[objstore.ID]bool)}
	var text strings.Builder
	for i := range 8 << 10 {
		fmt.Fprintf(&text, "%x\\n", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	call := snapshot.ToolCall{NodeID: "a", Attempt: 1, Seq: 1, ToolName: "bash", Status: snapshot.ToolCallIntended, Input: json.RawMessage(`"` + text.String() + `"`)}
	called := journaled(t, store, startRun(t, store), snapshot.SetToolCall(call))
	before := len(store.order)
	call.Status, call.FinishedAtMs = snapshot.ToolCallFailed, new(int64(9))
	assert.Equal(t, []snapshot.ToolCall{call}, callsOf(t, journaled(t, store, called, snapshot.SetToolCall(call))))
	added := 0
	for _, id := range store.order[before:] {
		_, data, err := store.Get(id)
		require.NoError(t, err)
		added += len(data)
	}
	assert.Less(t, added, len(call.Input)/4)
}

func TestAToolCallThatContradictsItselfIsRefused(t *testing.T) {
	t.Parallel()
	for value, message := range map[string]string{
		`{"startedAtMs":1,"status":"intended"}`:                                                        "toolName: missing",
		`{"toolName":"t","status":"intended"}`:                                                         "startedAtMs: missing",
		`{"startedAtMs":null,"toolName":"t","status":"intended"}`:                                      "startedAtMs: missing",
		`{"startedAtMs":-1,"toolName":"t","status":"intended"}`:                                        "time out of range: -1",
		`{"startedAtMs":1,"toolName":"t"}`:                                                             "status: missing",
		`{"startedAtMs":1,"toolName":"t","status":"done"}`:                                             `status: unknown status "done", expected intended, succeeded, failed, unknown`,
		`{"startedAtMs":1,"toolName":"t","status":"intended","kind":"agent"}`:                          `kind: unknown kind "agent", expected tool, task`,
		`{"startedAtMs":1,"toolName":"t","status":"intended","revertStatus":"no"}`:                     `revertStatus: unknown revertStatus "no", expected reverting, reverted, revert-failed, revert-stale`,
		`{"startedAtMs":1,"toolName":"t","status":"intended","finishedAtMs":2}`:                        "finishedAtMs: set, but the status is intended",
		`{"startedAtMs":1,"toolName":"t","status":"failed","finishedAtMs":-2}`:                         "time out of range: -2",
		`{"startedAtMs":1,"toolName":"t","status":"failed","input":1,"inputAt":{"transcript":"t"}}`:    "inputAt: set, but input is set, too",
		`{"startedAtMs":1,"toolName":"t","status":"failed","output":1,"outputAt":{"transcript":"t"}}`:  "outputAt: set, but output is set, too",
		`{"startedAtMs":1,"toolName":"t","status":"failed","inputAt":{"offset":1,"length":1}}`:         "inputAt: transcript: missing",
		`{"startedAtMs":1,"toolName":"t","status":"failed","outputAt":{"transcript":"t","length":-1}}`: "outputAt: offset 0 or length -1: out of range",
		`{"startedAtMs":1,"toolName":"t","status":"failed","inputAt":{"transcript":"t","size":1}}`:     "inputAt: size: unknown field",
		`{"startedAtMs":1,"toolName":"t","status":"failed","tool":"t"}`:                                "tool: unknown field",
		`{"startedAtMs":1,"toolName":"t","status":"failed","seq":2}`:                                   "seq: differs from the key",
	} {
		_, err := snapshot.EngineChange(snapshot.Limits{}, nil, snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionToolCalls, Key: "a::0::1::1", Value: json.RawMessage(value)})
		require.ErrorIs(t, err, snapshot.ErrInvalid, value)
		assert.ErrorContains(t, err, `tool call "a::0::1::1": `+message)
	}
}

func TestAnEngineWritesToolCallsInAnyOrder(t *testing.T) {
	t.Parallel()
	given := snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionToolCalls, Key: "a::0::1::2", Value: json.RawMessage(
		`{"toolName":"t","seq":2,"attempt":1,"nodeId":"a","status":"intended","startedAtMs":3,"finishedAtMs":null,"sideEffect":null,"inputAt":null,"input":{ "b":1}}`,
	)}
	store := new(objstoretest.Memory)
	first := startRun(t, store)
	stored, err := snapshot.EngineChange(snapshot.Limits{}, first, given)
	require.NoError(t, err)
	want := page.Row{Key: "a::0::1::2", Value: []byte(`{"input":{ "b":1},"startedAtMs":3,"status":"intended","toolName":"t"}`)}
	assert.Equal(t, want, page.Row{Key: stored.Key, Value: stored.Value})
	assert.Equal(t, journaled(t, store, first, given).Tree, journaled(t, store, first, stored).Tree)
	_, err = snapshot.Append(store, nil, first, snapshot.Draft{Journal: []snapshot.Change{snapshot.RemoveRow(snapshot.CollectionToolCalls, "a::0::1::2")}})
	assert.ErrorIs(t, err, snapshot.ErrInvalid, "the journal is only added to")
}

func TestMembersOfANewerVersionAreKeptInOpenRows(t *testing.T) {
	t.Parallel()
	store := new(objstoretest.Memory)
	first := startRun(t, store)
	newer := []snapshot.Change{
		{Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: "a::0::1", Value: json.RawMessage(`{"cost":3,"exitStatus":null,"finishedAtMs":null,"startedAtMs":5,"state":"in-progress","z":[{"a":"é"}]}`)},
		{Op: snapshot.OpSet, Collection: snapshot.CollectionToolCalls, Key: "a::0::1::0", Value: json.RawMessage(`{"cost":3,"startedAtMs":5,"status":"intended","toolName":"t"}`)},
	}
	tip := journaled(t, store, first, newer...)
	attempts, err := tip.Attempts()
	require.NoError(t, err)
	value, _, err := attempts.Get("a::0::1")
	require.NoError(t, err)
	assert.Equal(t, string(newer[0].Value), string(value), "stored as it was")

	attempt, err := snapshot.DecodeAttempt(page.Row{Key: "a::0::1", Value: value})
	require.NoError(t, err)
	attempt.State, attempt.FinishedAtMs = snapshot.AttemptFinished, new(int64(6))
	const ended = `{"cost":3,"exitStatus":null,"finishedAtMs":6,"startedAtMs":5,"state":"finished","z":[{"a":"é"}]}`
	assert.Equal(t, ended, string(snapshot.EncodeAttempt(attempt).Value), "a program that changes the row keeps them")

	given, err := snapshot.EngineChange(snapshot.Limits{}, tip, snapshot.Change{
		Op: snapshot.OpSet, Collection: snapshot.CollectionAttempts, Key: "a::0::1", Value: json.RawMessage(`{"state":"finished","startedAtMs":5,"finishedAtMs":6}`),
	})
	require.NoError(t, err)
	assert.Equal(t, ended, string(given.Value), "an engine that writes the row anew keeps them")
	next := journaled(t, store, tip, given)
	attempts, err = next.Attempts()
	require.NoError(t, err)
	value, _, err = attempts.Get("a::0::1")
	require.NoError(t, err)
	assert.Equal(t, ended, string(value))
	require.NoError(t, new(snapshot.Sound).Verify(snapshot.CollectionAttempts, attempts, decoding(snapshot.DecodeAttempt)))

	_, err = snapshot.EngineChange(snapshot.Limits{}, tip, newer[0])
	assert.ErrorContains(t, err, "cost: unknown field", "an engine may have misspelled a name")
	_, err = snapshot.Append(store, nil, tip, snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{{
		Op: snapshot.OpSet, Collection: snapshot.CollectionNodes, Key: "a::0",
		Value: json.RawMessage(`{"label":null,"lastAttempt":null,"needs":[],"outputTable":null,"ralphId":null,"state":"pending","x":0}`),
	}}}})
	assert.ErrorContains(t, err, "x: unknown field", "a closed row takes none in")
}

func TestACollectionTakesRowsOfEngines(t *testing.T) {
	t.Parallel()
	for collection, want := range map[string]bool{
		snapshot.CollectionAttempts: true, snapshot.CollectionLogs: true, snapshot.CollectionToolCalls: true, snapshot.CollectionTranscript: true,
		snapshot.CollectionOps: false, snapshot.CollectionNodes: false, snapshot.CollectionWaits: false, "outputs/attempts": false, "": false,
	} {
		assert.Equal(t, want, snapshot.IsEngineJournal(collection), collection)
	}
}
