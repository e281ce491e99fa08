package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

func TestAFrameCanGoBackToAnotherState(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: append(many(3), mail("task-1")...), Silent: true}})
	first := c.tip
	then, err := first.State()
	require.NoError(t, err)
	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: append(many1(1, 1), signal(someSignal(0, "go")), remove(snapshot.CollectionApprovals, "task-1::0")), Silent: true}})

	back := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: then, Based: new(int64(0)), Silent: true}})
	assert.EqualValues(t, 2, back.Frame)
	assert.EqualValues(t, 0, *back.Based)
	assert.Equal(t, first.ContentHash, back.ContentHash)
	state, err := back.State()
	require.NoError(t, err)
	assert.Equal(t, then.ID(), state.ID(), "the mailbox included")

	c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{State: many1(2, 5), Silent: true}})
	changed := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Restore: then, State: []snapshot.Change{input(`1`)}, Based: new(snapshot.NoFrame), Silent: true}})
	assert.Equal(t, snapshot.NoFrame, *changed.Based)
	state, err = changed.State()
	require.NoError(t, err)
	assert.Equal(t, then.Nodes().ID(), state.Nodes().ID())
	assert.NotEqual(t, first.ContentHash, changed.ContentHash)
}

func TestAFrameThatGoesOnFromTheLastOneDoesNotSaySo(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{})
	assert.Nil(t, c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(0)), Silent: true}}).Based)
	c.append(t, snapshot.Draft{})
	assert.Nil(t, c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Based: new(int64(1)), Silent: true}}).Based)
}

func TestAFrameSaysItsNumberAndContentHash(t *testing.T) {
	t.Parallel()
	c := start(t, snapshot.Draft{Frame: &snapshot.FrameDraft{}, Events: []snapshot.Event{{Type: "RunStarted", AtMs: 1}}})
	events, err := c.tip.Events()
	require.NoError(t, err)
	captured := snapshot.Event{
		Seq: 1, Type: "SnapshotCaptured", AtMs: someTime,
		Payload: []byte(`{"runId":"run","frameNo":0,"contentHash":"` + c.tip.ContentHash.String() + `"}`),
	}
	assert.Equal(t, []snapshot.Event{{Type: "RunStarted", AtMs: 1, Payload: []byte(`{}`)}, captured}, events)

	events, err = c.append(t, snapshot.Draft{}).Events()
	require.NoError(t, err)
	assert.Empty(t, events, "what is not a frame has nothing to say")
}

func TestOpsAreTheRunsOwn(t *testing.T) {
	t.Parallel()
	op := func(o snapshot.Op) snapshot.Change { return set(snapshot.CollectionOps, snapshot.EncodeOp(o)) }
	c := start(t, snapshot.Draft{})
	traveled := snapshot.Op{
		Number: 1, Kind: snapshot.OpTravel, AtMs: someTime, Before: c.tip.ID, Frame: new(int64(1)), To: new(int64(0)),
		NodeID: "a", Iteration: 2, Attempt: 3, NoDeps: true, Files: true, Worktree: "w",
	}
	parent := c.append(t, snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Journal: []snapshot.Change{op(traveled)}})
	assert.Equal(t, []snapshot.Op{traveled}, ops(t, parent))
	assert.Equal(t, []snapshot.Op{traveled}, ops(t, c.append(t, snapshot.Draft{})))

	forked := snapshot.Op{Number: 1, Kind: snapshot.OpFork, AtMs: someTime}
	for _, tc := range []struct {
		name    string
		journal []snapshot.Change
		want    []snapshot.Op
	}{
		{"a fork's begin with what it has", []snapshot.Change{op(forked)}, []snapshot.Op{forked}},
		{"or with none", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := &chain{store: c.store, tip: parent}
			child := c.append(t, snapshot.Draft{Journal: tc.journal, Run: func(r *snapshot.Run) { r.ID = "child" }})
			assert.Equal(t, tc.want, ops(t, child))
		})
	}
}

func ops(t *testing.T, e *snapshot.Entry) []snapshot.Op {
	t.Helper()
	rows, err := e.Ops()
	require.NoError(t, err)
	var out []snapshot.Op
	for row, err := range rows.Rows() {
		require.NoError(t, err)
		o, err := snapshot.DecodeOp(row)
		require.NoError(t, err)
		out = append(out, o)
	}
	return out
}

func TestOpsAreStoredInOneForm(t *testing.T) {
	t.Parallel()
	before := objstore.SHA1.ID(objstore.Blob, nil)
	want := `{"atMs":5,"before":"` + before.String() + `","frame":4,"kind":"undo","undoes":2}`
	for _, given := range []string{want, `{ "op":3, "undoes":2, "kind":"undo", "frame":4, "before":"` + before.String() + `", "atMs":5 }`} {
		c := start(t, snapshot.Draft{Journal: []snapshot.Change{{Op: snapshot.OpSet, Collection: snapshot.CollectionOps, Key: "3", Value: []byte(given)}}})
		rows, err := c.tip.Ops()
		require.NoError(t, err)
		value, found, err := rows.Get("3")
		require.NoError(t, err)
		require.True(t, found)
		assert.Equal(t, want, string(value))
	}
}
