package contents

import (
	"errors"
	"iter"

	"github.com/git-smithers/git-smithers/snapshot"
)

// WholeOf reads all rows of a state, with the mailbox and the waits. No list of the result is nil. The input is
// nil if the state has no input.
func WholeOf(state *snapshot.State) (snapshot.Whole, error) {
	w := snapshot.Whole{
		Nodes: []snapshot.Node{}, Outputs: []snapshot.Output{}, Loops: []snapshot.Loop{}, Approvals: []snapshot.Approval{},
		HumanRequests: []snapshot.HumanRequest{}, Signals: []snapshot.Signal{}, Waits: []snapshot.Wait{},
	}
	for _, table := range state.Tables() {
		for row, err := range state.Outputs(table).Rows() {
			if err != nil {
				return snapshot.Whole{}, err
			}
			id, iteration, err := snapshot.SplitKey(row.Key)
			if err != nil {
				return snapshot.Whole{}, err
			}
			w.Outputs = append(w.Outputs, snapshot.Output{Table: table, NodeID: id, Iteration: iteration, Value: row.Value})
		}
	}
	var err error
	if w.Input, err = state.Input(); err != nil {
		return snapshot.Whole{}, err
	}
	return w, errors.Join(
		collect(&w.Nodes, state.AllNodes()), collect(&w.Loops, state.AllLoops()), collect(&w.Approvals, state.AllApprovals()),
		collect(&w.HumanRequests, state.AllHumanRequests()), collect(&w.Signals, state.AllSignals()), collect(&w.Waits, state.AllWaits()),
	)
}

// collect appends rows to all, up to the first error, which it returns.
func collect[T any](all *[]T, rows iter.Seq2[T, error]) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		*all = append(*all, row)
	}
	return nil
}
