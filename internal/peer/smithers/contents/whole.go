package contents

import (
	"github.com/git-smithers/git-smithers/snapshot"
)

// WholeOf reads all rows of a state, with the mailbox and the waits. No list of the result is nil. The input is
// nil if the state has no input.
func WholeOf(state *snapshot.State) (snapshot.Whole, error) {
	w := snapshot.Whole{
		Nodes: []snapshot.Node{}, Outputs: []snapshot.Output{}, Loops: []snapshot.Loop{}, Approvals: []snapshot.Approval{},
		HumanRequests: []snapshot.HumanRequest{}, Signals: []snapshot.Signal{}, Waits: []snapshot.Wait{},
	}
	for row, err := range state.Nodes().Rows() {
		if err != nil {
			return snapshot.Whole{}, err
		}
		n, err := snapshot.DecodeNode(row)
		if err != nil {
			return snapshot.Whole{}, err
		}
		w.Nodes = append(w.Nodes, n)
	}
	for row, err := range state.Loops().Rows() {
		if err != nil {
			return snapshot.Whole{}, err
		}
		l, err := snapshot.DecodeLoop(row)
		if err != nil {
			return snapshot.Whole{}, err
		}
		w.Loops = append(w.Loops, l)
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
	return w, mailOf(state, &w)
}

// mailOf reads the mailbox and the waits of a state into w.
func mailOf(state *snapshot.State, w *snapshot.Whole) error {
	for a, err := range state.AllApprovals() {
		if err != nil {
			return err
		}
		w.Approvals = append(w.Approvals, a)
	}
	for h, err := range state.AllHumanRequests() {
		if err != nil {
			return err
		}
		w.HumanRequests = append(w.HumanRequests, h)
	}
	for s, err := range state.AllSignals() {
		if err != nil {
			return err
		}
		w.Signals = append(w.Signals, s)
	}
	for wait, err := range state.AllWaits() {
		if err != nil {
			return err
		}
		w.Waits = append(w.Waits, wait)
	}
	return nil
}
