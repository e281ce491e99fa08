package snapshot

import (
	"fmt"
	"iter"

	"github.com/git-smithers/git-smithers/objstore/page"
)

// ResetAll returns the changes that make the whole run begin anew: every node is pending
// in its first iteration and later iterations are gone, loops are at their first and not done,
// there is no output, and the mailbox is empty, signals included. The input stays.
func ResetAll(s *State) ([]Change, error) {
	var out []Change
	for n, err := range decoded(s.Nodes(), DecodeNode) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("nodes: %w", err)
		case n.Iteration > 0:
			out = append(out, removeRow(CollectionNodes, Key(n.NodeID, n.Iteration)))
		case n.State != NodePending || n.LastAttempt != nil:
			n.State, n.LastAttempt = NodePending, nil
			out = append(out, setRow(CollectionNodes, EncodeNode(n)))
		}
	}
	for l, err := range decoded(s.Loops(), DecodeLoop) {
		if err != nil {
			return nil, fmt.Errorf("loops: %w", err)
		}
		if first := (Loop{RalphID: l.RalphID}); l != first {
			out = append(out, setRow(CollectionLoops, EncodeLoop(first)))
		}
	}
	for collection, rows := range s.rowsToClear() {
		for row, err := range rows.Rows() {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", collection, err)
			}
			out = append(out, removeRow(collection, row.Key))
		}
	}
	return out, nil
}

// rowsToClear yields outputs and mailbox by the names that a Change has for them.
func (s *State) rowsToClear() iter.Seq2[string, *page.Collection] {
	return func(yield func(string, *page.Collection) bool) {
		for _, t := range s.tables {
			if !yield(OutputCollection(t.name), t.rows) {
				return
			}
		}
		for name, c := range s.mail.all() {
			if !yield(name, c) {
				return
			}
		}
	}
}
