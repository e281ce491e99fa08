package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/snapshot"
)

// A hostile run says in its events what it likes: a trusted one gives results for its own tasks alone, and only what its history has.
func TestATrustedRunGivesResultsForItsOwnTasksAlone(t *testing.T) {
	t.Parallel()
	own := cache.Key{cache.PartWorkflow: "flow", cache.PartNode: "build", cache.PartCommand: "x"}
	with := func(part, value string) cache.Key {
		key := cache.Key{part: value}
		for k, v := range own {
			if k != part {
				key[k] = v
			}
		}
		return key
	}
	for name, tc := range map[string]struct {
		key   cache.Key
		state string // of the attempt
		want  int
	}{
		"its own task":                {own, snapshot.AttemptFinished, 1},
		"a task of another workflow":  {with(cache.PartWorkflow, "other"), snapshot.AttemptFinished, 0},
		"another task":                {with(cache.PartNode, "deploy"), snapshot.AttemptFinished, 0},
		"files that it does not have": {with(cache.PartFiles, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"), snapshot.AttemptFinished, 0},
		"an attempt that failed":      {own, snapshot.AttemptFailed, 0},
		"no key":                      {nil, snapshot.AttemptFinished, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, _ := newDesk(t, "name: flow\ntasks:\n  - {id: build, run: 'true'}\n")
			event := func(kind string, payload map[string]any) snapshot.Event {
				payload["nodeId"], payload["iteration"], payload["attempt"] = "build", 0, 1
				text, err := json.Marshal(payload)
				require.NoError(t, err)
				return snapshot.Event{Type: kind, Payload: text}
			}
			node := snapshot.Node{NodeID: "build", State: snapshot.NodeInProgress, LastAttempt: new(1)}
			head, err := d.Store.Create(t.Context(), snapshot.Run{ID: "r", Workflow: "flow", Status: snapshot.RunRunning}, snapshot.Draft{
				Frame: &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(node)}}, Events: []snapshot.Event{event("NodeStarted", map[string]any{})},
			})
			require.NoError(t, err)
			node.State = snapshot.NodeFinished
			attempt := snapshot.Attempt{NodeID: "build", Attempt: 1, State: tc.state, StartedAtMs: 1, FinishedAtMs: new(int64(2))}
			require.NoError(t, head.Append(t.Context(), snapshot.Draft{
				Frame:   &snapshot.FrameDraft{State: []snapshot.Change{snapshot.SetNode(node)}},
				Journal: []snapshot.Change{snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt))},
				Events:  []snapshot.Event{event("CacheMiss", map[string]any{"key": tc.key}), event("NodeFinished", map[string]any{})},
			}))
			added, err := d.TrustResults(t.Context(), "r")
			require.NoError(t, err)
			assert.Equal(t, tc.want, added)
			found, err := cache.Of(d.Store).Find(t.Context(), tc.key.Sum())
			require.NoError(t, err)
			assert.Equal(t, tc.want == 1, found != nil)
			if found != nil {
				assert.True(t, found.Own, "it is used as the clone's own")
			}
			removed, err := d.DistrustResults(t.Context(), "r")
			require.NoError(t, err)
			assert.Equal(t, tc.want, removed)
		})
	}
}
