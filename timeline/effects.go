package timeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// ConfirmEffects decides whether to go on although effects of a run are stepped over: what its tasks did outside stays done, and the
// tasks may do it again. It returns an error if not.
type ConfirmEffects func(ctx context.Context, effects []snapshot.ToolCall) error

// Effects returns the tool calls with an effect outside the run that lie behind the entry tip, and ahead of a state, in which their tasks are
// to run again. from is the entry from which the state was made. A call that from has is not ahead, unless its task was changed since. A call
// that failed, or whose effect was undone, is not ahead either. The result is in the order in which the calls began.
func Effects(tip, from *snapshot.Entry, state *snapshot.State) ([]snapshot.ToolCall, error) {
	rows, err := tip.ToolCalls()
	if err != nil || rows.Len() == 0 {
		return nil, Explain(err)
	}
	var effects []snapshot.ToolCall
	for call, err := range tip.AllToolCalls() {
		if err != nil {
			return nil, Explain(err)
		}
		if call.SideEffect != nil && *call.SideEffect && call.Status != snapshot.ToolCallFailed && call.RevertStatus != snapshot.RevertReverted {
			effects = append(effects, call)
		}
	}
	if len(effects) == 0 {
		return nil, nil
	}
	now, err := tip.State()
	if err != nil {
		return nil, Explain(err)
	}
	is, err := nodesOf(now)
	if err != nil {
		return nil, Explain(err)
	}
	then, err := nodesOf(state)
	if err != nil {
		return nil, Explain(err)
	}
	had, err := from.ToolCalls()
	if err != nil {
		return nil, Explain(err)
	}
	before, err := from.State()
	if err != nil {
		return nil, Explain(err)
	}
	was, err := nodesOf(before)
	if err != nil {
		return nil, Explain(err)
	}
	var lost error
	effects = slices.DeleteFunc(effects, func(call snapshot.ToolCall) bool {
		key := snapshot.Key(call.NodeID, call.Iteration)
		_, behind, err := had.Get(snapshot.ToolCallKey(call.NodeID, call.Iteration, call.Attempt, call.Seq))
		lost = cmp.Or(lost, err)
		return then[key] == is[key] || then[key].done >= call.Attempt || behind && then[key] == was[key]
	})
	if lost != nil {
		return nil, Explain(lost)
	}
	slices.SortStableFunc(effects, func(a, b snapshot.ToolCall) int { return cmp.Compare(a.StartedAtMs, b.StartedAtMs) })
	return effects, nil
}

// standing is how far a node has come.
type standing struct {
	state snapshot.NodeState
	last  int // the newest attempt
	done  int // the attempt that is over for good; 0 if the node is to run
}

// nodesOf returns the standing of each node, by its key.
func nodesOf(state *snapshot.State) (map[string]standing, error) {
	nodes := make(map[string]standing)
	for n, err := range state.AllNodes() {
		if err != nil {
			return nil, err
		}
		at := standing{state: n.State}
		if n.LastAttempt != nil {
			at.last = *n.LastAttempt
		}
		if n.State == snapshot.NodeFinished || n.State == snapshot.NodeSkipped {
			at.done = at.last
		}
		nodes[snapshot.Key(n.NodeID, n.Iteration)] = at
	}
	return nodes, nil
}
