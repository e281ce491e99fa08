package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Snapshot is one side of a comparison: a state and its working copy's revision. VCS is nil if the working copy
// is not recorded.
type Snapshot struct {
	State *snapshot.State
	VCS   *snapshot.VCS
}

// Snapshots returns the differences between the states of a and b, and between their vcs pointers. A vcs pointer is
// the text that identifies a working copy's revision. Snapshots returns the same errors as [States].
func Snapshots(a, b Snapshot) (*Result, error) {
	result, err := States(a.State, b.State)
	if err != nil {
		return nil, err
	}
	if from, to := pointer(a.VCS), pointer(b.VCS); from != to {
		result.VCSPointerChanged = true
		result.VCSPointer = &PointerChange{from, to}
	}
	return result, nil
}

// pointer returns the vcs pointer of v, or "" if v is nil because the working copy is not recorded.
func pointer(v *snapshot.VCS) string {
	if v == nil {
		return ""
	}
	return v.Pointer()
}

// States returns the differences from state a to state b. It reads only subtrees that differ, so it reads nothing if
// the states are equal. If a part of a state is missing, the error wraps objstore.ErrNotFound. If a part is damaged,
// the error wraps objstore.ErrCorrupt.
func States(a, b *snapshot.State) (*Result, error) {
	result := newResult()
	if a.ID() == b.ID() {
		return result, nil
	}
	if err := result.nodes(a.Nodes(), b.Nodes()); err != nil {
		return nil, fmt.Errorf("compare nodes: %w", err)
	}
	for _, table := range tables(a, b) {
		if err := result.outputs(table, a.Outputs(table), b.Outputs(table)); err != nil {
			return nil, fmt.Errorf("compare outputs of %q: %w", table, err)
		}
	}
	if err := result.loops(a.Loops(), b.Loops()); err != nil {
		return nil, fmt.Errorf("compare loops: %w", err)
	}
	if err := result.mailbox(a, b); err != nil {
		return nil, err
	}
	if err := result.input(a, b); err != nil {
		return nil, fmt.Errorf("compare the input: %w", err)
	}
	result.sort()
	return result, nil
}

// tables returns the sorted names of the output tables of both states, each name once.
func tables(a, b *snapshot.State) []string {
	names := slices.Concat(a.Tables(), b.Tables())
	slices.Sort(names)
	return slices.Compact(names)
}

// nodes compares the nodes of two states and appends the differences to r. a is the collection before, and b is
// the collection after.
func (r *Result) nodes(a, b *page.Collection) error {
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		from, to, err := decodeBoth(delta, decodeNode)
		switch {
		case err != nil:
			return err
		case delta.From == nil:
			r.NodesAdded = append(r.NodesAdded, delta.Key)
		case delta.To == nil:
			r.NodesRemoved = append(r.NodesRemoved, delta.Key)
		default:
			r.NodesChanged = append(r.NodesChanged, NodeChange{delta.Key, from, to})
		}
	}
	return nil
}

// decodeNode returns the node in a row. If the node has no needs, Needs is an empty list and not nil, so that
// JSON has [] instead of null.
func decodeNode(row page.Row) (snapshot.Node, error) {
	n, err := snapshot.DecodeNode(row)
	if n.Needs == nil {
		n.Needs = []string{}
	}
	return n, err
}

// loops compares the loops of two states and appends the differences to r. a is the collection before, and b is
// the collection after.
func (r *Result) loops(a, b *page.Collection) error {
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		from, to, err := decodeBoth(delta, snapshot.DecodeLoop)
		switch {
		case err != nil:
			return err
		case delta.From == nil:
			r.LoopsAdded = append(r.LoopsAdded, delta.Key)
		case delta.To == nil:
			r.LoopsRemoved = append(r.LoopsRemoved, delta.Key)
		default:
			r.LoopsChanged = append(r.LoopsChanged, LoopChange{delta.Key, from, to})
		}
	}
	return nil
}

// decodeBoth returns the decoded rows of both sides of d. If a side has no row, its result is the zero T. If decode
// fails for a row, decodeBoth returns the error of decode.
func decodeBoth[T any](d page.Delta, decode func(page.Row) (T, error)) (from, to T, err error) {
	if d.From != nil {
		from, err = decode(page.Row{Key: d.Key, Value: d.From})
	}
	if err == nil && d.To != nil {
		to, err = decode(page.Row{Key: d.Key, Value: d.To})
	}
	return from, to, err
}

// outputs compares the outputs of two states in one table and appends the differences to r. a is the collection before,
// and b is the collection after.
func (r *Result) outputs(table string, a, b *page.Collection) error {
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		node, iteration, err := snapshot.SplitKey(delta.Key)
		switch {
		case err != nil:
			return err
		case delta.From == nil:
			r.OutputsAdded = append(r.OutputsAdded, Output{table, node, iteration, delta.To})
		case delta.To == nil:
			r.OutputsRemoved = append(r.OutputsRemoved, Output{table, node, iteration, delta.From})
		default:
			r.OutputsChanged = append(r.OutputsChanged, OutputChange{table, node, iteration, delta.From, delta.To})
		}
	}
	return nil
}

// input compares the inputs of two states and sets r.InputChanged and r.Input. If an input cannot be read, input
// returns the error and sets no change.
func (r *Result) input(a, b *snapshot.State) error {
	change, err := compareInputs(a, b)
	r.InputChanged, r.Input = change != nil, change
	return err
}

// compareInputs returns the inputs of two states, or nil if the states have the same input id. It reads the inputs
// only if their ids differ.
func compareInputs(a, b *snapshot.State) (*InputChange, error) {
	if a.InputID() == b.InputID() {
		return nil, nil
	}
	from, err := a.Input()
	if err != nil {
		return nil, err
	}
	to, err := b.Input()
	if err != nil {
		return nil, err
	}
	return &InputChange{from, to}, nil
}

// sort sorts the lists of r: outputs by table, and rows by node id and then iteration. It is necessary because
// page.Diff returns rows in the order of their keys' bytes, so that iteration 10 comes before 9. Loops keep this order,
// because their keys have no iteration.
func (r *Result) sort() {
	slices.SortFunc(r.NodesAdded, compareKeys)
	slices.SortFunc(r.NodesRemoved, compareKeys)
	slices.SortFunc(r.NodesChanged, func(a, b NodeChange) int { return compareKeys(a.Key, b.Key) })
	outputs := func(a, b Output) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration))
	}
	slices.SortFunc(r.OutputsAdded, outputs)
	slices.SortFunc(r.OutputsRemoved, outputs)
	slices.SortFunc(r.OutputsChanged, func(a, b OutputChange) int {
		return outputs(Output{a.Table, a.NodeID, a.Iteration, nil}, Output{b.Table, b.NodeID, b.Iteration, nil})
	})
	r.sortMailbox()
}

// compareKeys returns -1, 0 or 1 for two keys of nodes, in the order of node id and then iteration. If a key is
// malformed, it compares the bytes of the keys.
func compareKeys(a, b string) int {
	nodeA, iterationA, errA := snapshot.SplitKey(a)
	nodeB, iterationB, errB := snapshot.SplitKey(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(strings.Compare(nodeA, nodeB), cmp.Compare(iterationA, iterationB))
}
