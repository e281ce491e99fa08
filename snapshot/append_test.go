package snapshot_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestFramesAndEventsAreNumberedInTheirRun(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Events: []snapshot.Event{{Type: "RunStarted", AtMs: 1}}})
	first := c.tip
	assert.EqualValues(t, 0, first.Frame)

	// What an edit of the row says about numbers does not count.
	second := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Run: func(r *snapshot.Run) { r.Frame, r.NextSeq = 70, 70 }})
	assert.EqualValues(t, 1, second.Frame)

	signal := c.append(t, snapshot.Draft{Events: []snapshot.Event{{Type: "A"}, {Type: "B", Payload: []byte(`{ "k" : 1.0 }`)}}})
	assert.Equal(t, snapshot.NoFrame, signal.Frame)
	events, err := signal.Events()
	require.NoError(t, err)
	assert.Equal(t, []snapshot.Event{
		{Seq: 1, Type: "A", Payload: []byte(`{}`)}, {Seq: 2, Type: "B", Payload: []byte(`{"k":1.0}`)},
	}, events)
	row, err := signal.RunRow()
	require.NoError(t, err)
	assert.EqualValues(t, 1, row.Frame)
	assert.EqualValues(t, 3, row.NextSeq)

	third := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
	assert.EqualValues(t, 2, third.Frame)
	assert.Equal(t, signal.ID, third.Parent)
	events, err = third.Events()
	require.NoError(t, err)
	assert.Empty(t, events, "an entry's events are its own")
}

func TestAForkCountsAnew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		frame bool
		want  int64
	}{
		{"with changes its first entry is frame 0", true, 0},
		{"without changes its first entry is no frame", false, snapshot.NoFrame},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{input(`{"x":1}`)}, Silent: true}, Events: []snapshot.Event{{Type: "RunStarted"}}})
			parent := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many1(0, 0), Silent: true}})
			draft := snapshot.Draft{
				Events: []snapshot.Event{{Type: "RunForked"}},
				Run: func(r *snapshot.Run) {
					*r = snapshot.Run{
						ID: "child", Status: snapshot.RunPending,
						Parent: &snapshot.Parent{RunID: "run", Frame: 1, Commit: parent.ID, AtMs: 5, Label: "l"},
					}
				},
			}
			if tc.frame {
				draft.Frame = &snapshot.FrameDraft{State: []snapshot.Change{input(`{"x":2}`)}, Silent: true}
			}
			child := c.append(t, draft)
			assert.Equal(t, "child", child.Run)
			assert.Equal(t, tc.want, child.Frame)
			assert.Equal(t, parent.ID, child.Parent)
			row, err := child.RunRow()
			require.NoError(t, err)
			assert.EqualValues(t, 0, row.Frame)
			assert.EqualValues(t, 1, row.NextSeq)
			next := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}})
			assert.EqualValues(t, 1, next.Frame)
		})
	}
}

func TestAppendWritesWhatChanged(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{
		Frame:    &snapshot.FrameDraft{State: many(1000), Rendered: []byte(`{"kind":"text","text":"x"}`), Silent: true},
		Workflow: &snapshot.Workflow{Definition: []byte("name: triage\n")},
		VCS:      &snapshot.VCS{Type: "git", CommitID: "0123abcd"},
	})
	before := c.store.Len()
	c.append(t, snapshot.Draft{
		Frame:  &snapshot.FrameDraft{State: many1(7, 1), Rendered: []byte(`{"text":"x","kind":"text"}`), Silent: true},
		VCS:    &snapshot.VCS{Type: "git", CommitID: "0123abcd"},
		Events: []snapshot.Event{{Type: "NodeFinished"}},
	})
	// Nodes and outputs: a page, and 2 directories with their sums and a collection
	// for each; outputs, state, run.json, events, the entry's tree and the commit.
	assert.LessOrEqual(t, c.store.Len()-before, 2*(1+2*2+1)+6)

	c.append(t, snapshot.Draft{})
	before = c.store.Len()
	c.append(t, snapshot.Draft{})
	assert.Equal(t, 1, c.store.Len()-before, "an entry that changes nothing is a commit")
}

func TestPartsAreCarried(t *testing.T) {
	t.Parallel()
	workflow := &snapshot.Workflow{
		Definition: []byte("name: x\n"),
		Schemas:    map[string]rawJSON{"a.b": rawJSON(`{"type": "object"}`), "Plain": rawJSON(`true`)},
	}
	attempt := snapshot.Attempt{NodeID: "a::b", Iteration: 2, Attempt: 1, State: snapshot.AttemptFailed, StartedAtMs: 5, ExitStatus: new(3), Error: "exit: 3"}
	c := start(t, snapshot.Draft{
		Frame: &snapshot.FrameDraft{
			State:    []snapshot.Change{input(`[1]`)},
			Rendered: []byte(`{"kind":"text","text":"x"}`),
			Silent:   true,
		},
		Workflow: workflow,
		VCS:      &snapshot.VCS{Type: snapshot.VCSJJ, CommitID: "0123", ChangeID: "kxyz", Operation: "ab", Branch: "main"},
		Journal: []snapshot.Change{
			set(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt)),
			set(snapshot.CollectionLogs, snapshot.EncodeLog("a::b", 2, 1, "said\nsomething")),
		},
	})
	for range 3 {
		c.append(t, snapshot.Draft{Events: []snapshot.Event{{Type: "A"}}})
	}
	got, err := c.tip.Workflow()
	require.NoError(t, err)
	assert.Equal(t, workflow, got)
	row, err := c.tip.RunRow()
	require.NoError(t, err)
	assert.Equal(t, workflow.Hash(), row.WorkflowHash)
	assert.JSONEq(t, `{"kind":"text","text":"x"}`, c.rendered(t, c.tip))
	assert.Equal(t, "jj:kxyz@0123", c.tip.VCS)
	vcs, err := c.tip.VCSRevision()
	require.NoError(t, err)
	assert.Equal(t, "0123", vcs.Pointer())

	attempts, err := c.tip.Attempts()
	require.NoError(t, err)
	for r, err := range attempts.Rows() {
		require.NoError(t, err)
		read, err := snapshot.DecodeAttempt(r)
		require.NoError(t, err)
		assert.Equal(t, attempt, read)
	}
	logs, err := c.tip.Logs()
	require.NoError(t, err)
	for r, err := range logs.Rows() {
		require.NoError(t, err)
		text, err := snapshot.DecodeLog(r)
		require.NoError(t, err)
		assert.Equal(t, "said\nsomething", text)
	}
}

type rawJSON = json.RawMessage

func TestAppendRefuses(t *testing.T) {
	t.Parallel()
	ok := func(r *snapshot.Run) { r.ID, r.Status = "run", snapshot.RunRunning }
	for _, tc := range []struct {
		name  string
		first bool
		draft snapshot.Draft
	}{
		{"a first entry that is no frame", true, snapshot.Draft{Run: ok}},
		{"a run without an id", true, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Run: func(r *snapshot.Run) { r.Status = snapshot.RunRunning }}},
		{"an unknown status", true, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Run: func(r *snapshot.Run) { r.ID, r.Status = "run", "odd" }}},
		{"a path that names a machine", true, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Run: func(r *snapshot.Run) { ok(r); r.WorkflowPath = "/home/me/flow.yaml" }}},
		{"a number beyond 2^53", true, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Run: func(r *snapshot.Run) { ok(r); r.Epoch = 1 << 53 }}},
		{"a negative time", false, snapshot.Draft{AtMs: -1}},
		{"a state that changes without a frame", false, snapshot.Draft{Mailbox: []snapshot.Change{input(`1`)}}},
		{"a rendered tree that is none", false, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(`{"kind":"odd"}`), Silent: true}}},
		{"a base that is not outside the chain", false, snapshot.Draft{Base: objstore.SHA1.ID(objstore.Blob, nil)}},
		{"an event without a type", false, snapshot.Draft{Events: []snapshot.Event{{}}}},
		{"an event whose payload has a reserved key", false, snapshot.Draft{Events: []snapshot.Event{{Type: "A", Payload: []byte(`{"seq":1}`)}}}},
		{"an event whose payload is no object", false, snapshot.Draft{Events: []snapshot.Event{{Type: "A", Payload: []byte(`[]`)}}}},
		{"a revision that is none", false, snapshot.Draft{VCS: &snapshot.VCS{Type: "git", CommitID: "a\nb"}}},
		{"a removal from the journal", false, snapshot.Draft{Journal: []snapshot.Change{remove(snapshot.CollectionAttempts, "a::0::1")}}},
		{"a journal collection in the state", false, snapshot.Draft{Frame: &snapshot.FrameDraft{State: []snapshot.Change{set("attempts", page.Row{Key: "a::0::1", Value: []byte(`{}`)})}, Silent: true}}},
		{"a frame based on itself", false, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(1)), Silent: true}}},
		{"a frame based on less than none", false, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(-2)), Silent: true}}},
		{"an empty id", false, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: []string{"a", ""}, Silent: true}}},
		{"an id that is not UTF-8", false, snapshot.Draft{Frame: &snapshot.FrameDraft{IDs: []string{"a\xff"}, Silent: true}}},
		{"a mailbox that changes in the journal", false, snapshot.Draft{Journal: mail("a")}},
		{"an op of an unknown kind", false, snapshot.Draft{Journal: []snapshot.Change{set(snapshot.CollectionOps, page.Row{Key: "1", Value: []byte(`{"kind":"odd"}`)})}}},
		{"an owner that is no token", true, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Run: func(r *snapshot.Run) { ok(r); r.Owner = "me@host" }}},
		{"a schema that is not JSON", false, snapshot.Draft{Workflow: &snapshot.Workflow{Schemas: map[string]rawJSON{"t": rawJSON("{")}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := &chain{store: new(objstoretest.Memory)}
			if !tc.first {
				c = start(t, snapshot.Draft{})
			}
			entry, err := snapshot.Append(c.store, nil, c.tip, tc.draft)
			assert.ErrorIs(t, err, snapshot.ErrInvalid)
			assert.Nil(t, entry)
		})
	}
}

func TestTheSameHistoryHasTheSameIDs(t *testing.T) {
	t.Parallel()
	write := func() []objstore.ID {
		c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many(20), Silent: true}})
		ids := []objstore.ID{c.tip.ID}
		for i := range 5 {
			ids = append(ids, c.append(t, snapshot.Draft{
				Frame: &snapshot.FrameDraft{State: many1(i, 1), Silent: true}, Subject: fmt.Sprint("step ", i),
				Journal: []snapshot.Change{set(snapshot.CollectionLogs, snapshot.EncodeLog("a", 0, i+1, "a\nlog"))},
			}).ID)
		}
		return ids
	}
	first := write()
	assert.Equal(t, first, write())
}

func TestJournalRowsAreStoredInOneForm(t *testing.T) {
	t.Parallel()
	rows := func(attempt, log string) (objstore.ID, objstore.ID) {
		c := start(t, snapshot.Draft{Journal: []snapshot.Change{
			set(snapshot.CollectionAttempts, page.Row{Key: "a::0::1", Value: []byte(attempt)}),
			set(snapshot.CollectionLogs, page.Row{Key: "a::0::1", Value: []byte(log)}),
		}})
		attempts, err := c.tip.Attempts()
		require.NoError(t, err)
		logs, err := c.tip.Logs()
		require.NoError(t, err)
		return attempts.ID(), logs.ID()
	}
	attempts, logs := rows(`{"exitStatus":null,"finishedAtMs":null,"startedAtMs":5,"state":"in-progress"}`, `"A/\n"`)
	otherAttempts, otherLogs := rows(`{ "state":"in-progress", "startedAtMs":5, "nodeId":"a", "attempt":1 }`, `"\u0041\/\u000a"`)
	assert.Equal(t, attempts, otherAttempts)
	assert.Equal(t, logs, otherLogs)
}
