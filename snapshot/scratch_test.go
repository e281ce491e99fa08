package snapshot_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

const someTime = int64(1_767_323_045_678)

// chain is a run under construction.
type chain struct {
	store  *objstoretest.Memory
	frames *snapshot.FrameCache
	tip    *snapshot.Entry
}

// start begins a run named "run" with one frame.
func start(t testing.TB, draft snapshot.Draft) *chain {
	t.Helper()
	c := &chain{store: new(objstoretest.Memory), frames: snapshot.NewFrameCache(512)}
	if draft.Frame == nil {
		draft.Frame = &snapshot.FrameDraft{Silent: true}
	}
	edit := draft.Run
	draft.Run = func(r *snapshot.Run) {
		*r = snapshot.Run{ID: "run", Workflow: "triage", Status: snapshot.RunRunning, CreatedAtMs: someTime}
		if edit != nil {
			edit(r)
		}
	}
	c.append(t, draft)
	return c
}

// append adds an entry, and checks that reading it gives what Append returned.
func (c *chain) append(t testing.TB, draft snapshot.Draft) *snapshot.Entry {
	t.Helper()
	if draft.AtMs == 0 {
		draft.AtMs = someTime
	}
	next, err := snapshot.Append(c.store, c.frames, c.tip, draft)
	require.NoError(t, err)
	requireSame(t, next, c.reopen(t, next.ID))
	c.tip = next
	return next
}

// reopen reads an entry anew.
func (c *chain) reopen(t testing.TB, id objstore.ID) *snapshot.Entry {
	t.Helper()
	e, err := snapshot.ReadEntry(c.store, id)
	require.NoError(t, err)
	return e
}

// rendered is the rendered tree of an entry, reconstructed without any cache.
func (c *chain) rendered(t testing.TB, e *snapshot.Entry) string {
	t.Helper()
	var none *snapshot.FrameCache
	tree, err := none.Rendered(c.store, e)
	require.NoError(t, err)
	return string(tree)
}

// requireSame compares everything that two entries say.
func requireSame(t testing.TB, want, got *snapshot.Entry) {
	t.Helper()
	require.Equal(t, want.Header, got.Header)
	for _, e := range []*snapshot.Entry{want, got} {
		state, err := e.State()
		require.NoError(t, err)
		require.Equal(t, want.ContentHash, state.ContentHash())
		require.NoError(t, state.Verify(nil))
	}
	require.Equal(t, parts(t, want), parts(t, got))
}

// parts reads all parts of an entry.
func parts(t testing.TB, e *snapshot.Entry) map[string]any {
	t.Helper()
	run, err := e.RunRow()
	require.NoError(t, err)
	state, err := e.State()
	require.NoError(t, err)
	events, err := e.Events()
	require.NoError(t, err)
	vcs, err := e.VCSRevision()
	require.NoError(t, err)
	attempts, err := e.Attempts()
	require.NoError(t, err)
	logs, err := e.Logs()
	require.NoError(t, err)
	ops, err := e.Ops()
	require.NoError(t, err)
	workflow, err := e.Workflow()
	require.NoError(t, err)
	return map[string]any{
		"run": run, "state": state.ID(), "events": events, "vcs": vcs,
		"attempts": attempts.ID(), "logs": logs.ID(), "ops": ops.ID(), "workflow": workflow,
	}
}

// node is a node's row as a change.
func node(n snapshot.Node) snapshot.Change {
	return set(snapshot.CollectionNodes, snapshot.EncodeNode(n))
}

// output is the row of an output of a node's first iteration as a change.
func output(table, nodeID, value string) snapshot.Change {
	return set(snapshot.OutputCollection(table), page.Row{Key: snapshot.Key(nodeID, 0), Value: []byte(value)})
}

func loop(l snapshot.Loop) snapshot.Change {
	return set(snapshot.CollectionLoops, snapshot.EncodeLoop(l))
}

func input(value string) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionInput, Value: json.RawMessage(value)}
}

func remove(collection, key string) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpRemove, Collection: collection, Key: key}
}

func set(collection string, row page.Row) snapshot.Change {
	return snapshot.Change{Op: snapshot.OpSet, Collection: collection, Key: row.Key, Value: row.Value}
}

// stateWith is a state made by changes.
func stateWith(t require.TestingT, w objstore.Writer, changes ...snapshot.Change) *snapshot.State {
	s, err := snapshot.EmptyState().Edit(w, changes)
	require.NoError(t, err)
	return s
}

// many are the changes that make n finished nodes with outputs of about 500 bytes.
func many(n int) []snapshot.Change {
	var changes []snapshot.Change
	for i := range n {
		changes = append(changes, many1(i, 0)...)
	}
	return changes
}

// many1 are the changes of one node; round tells its outputs apart.
func many1(i, round int) []snapshot.Change {
	id := fmt.Sprintf("task-%d", i)
	value := fmt.Sprintf(`{"round":%d,"text":"%0480d"}`, round, i+round)
	return []snapshot.Change{
		node(snapshot.Node{NodeID: id, State: snapshot.NodeFinished, LastAttempt: new(round + 1), OutputTable: "results", Needs: []string{"task-0"}}),
		output("results", id, value),
	}
}

// hexSum is the SHA-256 of a text in hex.
func hexSum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
