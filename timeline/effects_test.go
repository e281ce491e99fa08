package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/objstore/objstoretest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

func TestEffectsAreAheadOfAStateInWhichTheirTasksRunAgain(t *testing.T) {
	t.Parallel()
	var objects objstoretest.Memory
	frames := snapshot.NewFrameCache(4)
	node := func(id string, state snapshot.NodeState, last int) snapshot.Change {
		return snapshot.SetNode(snapshot.Node{NodeID: id, State: state, LastAttempt: &last, Needs: []string{}})
	}
	call := func(node string, attempt, seq int, change func(*snapshot.ToolCall)) snapshot.Change {
		c := snapshot.ToolCall{NodeID: node, Attempt: attempt, Seq: seq, ToolName: "t", Status: snapshot.ToolCallIntended, StartedAtMs: int64(10 - seq), SideEffect: new(true)}
		if change != nil {
			change(&c)
		}
		return snapshot.SetToolCall(c)
	}
	ended := int64(20)
	tip, err := snapshot.Append(&objects, frames, nil, snapshot.Draft{
		AtMs: 1, Run: func(row *snapshot.Run) { row.ID, row.Status, row.CreatedAtMs = "r", snapshot.RunRunning, 1 },
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{
			node("done", snapshot.NodeFinished, 2), node("failed", snapshot.NodeFailed, 1), node("same", snapshot.NodePending, 1), node("skipped", snapshot.NodeSkipped, 1),
		}},
		Journal: []snapshot.Change{
			call("done", 1, 1, nil),
			call("done", 2, 2, nil),
			call("done", 2, 3, func(c *snapshot.ToolCall) { c.SideEffect = nil }),
			call("done", 2, 4, func(c *snapshot.ToolCall) { c.Status, c.FinishedAtMs = snapshot.ToolCallFailed, &ended }),
			call("done", 2, 5, func(c *snapshot.ToolCall) { c.RevertStatus = snapshot.RevertReverted }),
			call("failed", 1, 6, nil), call("same", 1, 7, nil), call("skipped", 1, 8, nil), call("gone", 1, 9, nil),
		},
	})
	require.NoError(t, err)
	state, err := tip.State()
	require.NoError(t, err)
	seqs := func(changes ...snapshot.Change) (all []int) {
		then, err := state.Edit(&objects, changes)
		require.NoError(t, err)
		effects, err := timeline.Effects(tip, tip, then)
		require.NoError(t, err)
		for _, c := range effects {
			all = append(all, c.Seq)
		}
		return all
	}
	assert.Empty(t, seqs(), "the state of the tip")
	assert.Equal(t, []int{2, 1}, seqs(node("done", snapshot.NodePending, 2)), "every attempt of a task that runs again, in order")
	assert.Equal(t, []int{2}, seqs(node("done", snapshot.NodeFinished, 1)), "before its second attempt")
	assert.Equal(t, []int{6}, seqs(node("failed", snapshot.NodePending, 1)))
	assert.Equal(t, []int{8}, seqs(node("skipped", snapshot.NodePending, 1)))
}
