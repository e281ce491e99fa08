package reset

import (
	"fmt"
	"iter"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// All returns the changes of the state s that restart the whole run. Every node becomes pending in its first iteration,
// without a last attempt, and its later iterations are removed. Loops go back to their first iteration and are not
// done; loops nested in a later iteration are removed. Outputs and the mailbox, signals included, become empty. The input stays.
func All(s *snapshot.State) ([]snapshot.Change, error) {
	var out []snapshot.Change
	for n, err := range s.AllNodes() {
		switch {
		case err != nil:
			return nil, fmt.Errorf("nodes: %w", err)
		case n.Iteration > 0 || later(n.RalphID):
			out = append(out, snapshot.RemoveRow(snapshot.CollectionNodes, snapshot.Key(n.NodeID, n.Iteration)))
		case n.State != snapshot.NodePending || n.LastAttempt != nil:
			n.State, n.LastAttempt = snapshot.NodePending, nil
			out = append(out, snapshot.SetRow(snapshot.CollectionNodes, snapshot.EncodeNode(n)))
		}
	}
	for l, err := range s.AllLoops() {
		if err != nil {
			return nil, fmt.Errorf("loops: %w", err)
		}
		if later(&l.RalphID) {
			out = append(out, snapshot.RemoveRow(snapshot.CollectionLoops, l.RalphID))
			continue
		}
		if first := (snapshot.Loop{RalphID: l.RalphID}); l != first {
			out = append(out, snapshot.SetRow(snapshot.CollectionLoops, snapshot.EncodeLoop(first)))
		}
	}
	for collection, rows := range results(s) {
		for row, err := range rows.Rows() {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", collection, err)
			}
			out = append(out, snapshot.RemoveRow(collection, row.Key))
		}
	}
	return out, nil
}

// later reports whether a loop is nested in a later iteration than the first of a loop around it.
func later(loop *string) bool {
	for _, iteration := range snapshot.LoopsAround(loop, 0) {
		if iteration > 0 {
			return true
		}
	}
	return false
}

// results yields the collections that All empties, with their names: all collections of s except the nodes and the
// loops. These are the outputs and the mailbox.
func results(s *snapshot.State) iter.Seq2[string, *page.Collection] {
	return func(yield func(string, *page.Collection) bool) {
		for name, rows := range s.Collections() {
			if name != snapshot.CollectionNodes && name != snapshot.CollectionLoops && !yield(name, rows) {
				return
			}
		}
	}
}
