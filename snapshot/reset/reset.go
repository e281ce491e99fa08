// Package reset computes the changes of a state that make nodes run again.
package reset

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ErrUnknownNode is wrapped by the error about a node name that no node of the state has.
var ErrUnknownNode = errors.New("no such node")

// Nodes returns the changes that make nodes run again. The nodes become pending without a last attempt, and their
// outputs, approvals, human requests and waits are removed. Signals stay. Each element of nodes is a node id, which
// selects all iterations of the node, or "nodeId::iteration", which selects this iteration and the later iterations. If
// noDeps is true, the key selects this iteration alone. If a node is unknown, the error wraps ErrUnknownNode.
//
// Unless noDeps is true, Nodes also resets all nodes that need a named node, directly or through other nodes.
//
// If a node of a loop is reset, the loop goes back to the first iteration that is reset, and is not done. The loop
// repeats its work from this iteration on. So Nodes removes the loop's nodes of later iterations, with their outputs,
// and resets every node outside of the loop that needs a node of the loop. Nodes of this iteration and of earlier
// iterations stay, unless they need a node that is reset. If noDeps is true, only the named nodes are reset, and
// later iterations of other nodes stay.
func Nodes(s *snapshot.State, nodes []string, noDeps bool) ([]snapshot.Change, error) {
	r := resetter{state: s, byID: make(map[string][]snapshot.Node), from: make(map[string]int), back: make(map[string]int)}
	for n, err := range s.AllNodes() {
		if err != nil {
			return nil, err
		}
		r.byID[n.NodeID] = append(r.byID[n.NodeID], n)
	}
	var alone []string
	for _, name := range nodes {
		id, iteration, exact, err := r.find(name)
		if err != nil {
			return nil, err
		}
		r.mark(id, iteration)
		if exact {
			alone = append(alone, snapshot.Key(id, iteration))
		}
	}
	if noDeps {
		return r.changesAlone(nodes, alone)
	}
	r.spread()
	return r.changes()
}

// resetter finds the nodes and loops that a reset reaches.
type resetter struct {
	state *snapshot.State
	byID  map[string][]snapshot.Node // all iterations of each node
	from  map[string]int             // id of a marked node -> first iteration that is reset
	back  map[string]int             // ralph id -> iteration that the loop goes back to
}

// find returns the node id and the iteration that name selects. For the meaning of name, see Nodes. If name is a node
// id, exact is false and iteration is 0, the first iteration. If name is "nodeId::iteration", exact is true. If no node
// has the name, the error wraps ErrUnknownNode.
func (r *resetter) find(name string) (id string, iteration int, exact bool, err error) {
	if _, ok := r.byID[name]; ok {
		return name, 0, false, nil
	}
	if id, iteration, err = snapshot.SplitKey(name); err == nil {
		has := slices.ContainsFunc(r.byID[id], func(n snapshot.Node) bool { return n.Iteration == iteration })
		if has {
			return id, iteration, true, nil
		}
	}
	return "", 0, false, fmt.Errorf("%w: %q", ErrUnknownNode, name)
}

// mark records that a node is to be reset from the given iteration on, and that the node's loop goes back to this
// iteration. id is the node's id. If the node is already marked from this or an earlier iteration on, mark changes
// nothing and returns false.
func (r *resetter) mark(id string, iteration int) bool {
	if at, ok := r.from[id]; ok && at <= iteration {
		return false
	}
	r.from[id] = iteration
	if loop := r.loopOf(id); loop != "" {
		if at, ok := r.back[loop]; !ok || iteration < at {
			r.back[loop] = iteration
		}
	}
	return true
}

// loopOf returns the id of the loop that contains a node, or "" if the node is not in a loop. id is the node's id.
func (r *resetter) loopOf(id string) string {
	for _, n := range r.byID[id] {
		if n.RalphID != nil {
			return *n.RalphID
		}
	}
	return ""
}

// spread marks all nodes that need a marked node, directly or through other nodes. A dependent in the same loop is
// marked from the same iteration on. Any other dependent is marked from iteration 0 on. If a node of a loop is
// marked, spread also marks every node outside of the loop that needs any node of the loop.
func (r *resetter) spread() {
	dependents := make(map[string][]string)
	members := make(map[string][]string)
	for id, iterations := range r.byID {
		if loop := r.loopOf(id); loop != "" {
			members[loop] = append(members[loop], id)
		}
		for _, n := range iterations {
			for _, need := range n.Needs {
				dependents[need] = append(dependents[need], id)
			}
		}
	}
	todo := slices.Collect(maps.Keys(r.from)) // marked nodes whose dependents are not marked yet
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		loop := r.loopOf(id)
		for _, dependent := range dependents[id] {
			iteration := 0
			if loop != "" && r.loopOf(dependent) == loop {
				iteration = r.from[id]
			}
			if r.mark(dependent, iteration) {
				todo = append(todo, dependent)
			}
		}
		for _, member := range members[loop] { // empty if the node is not in a loop
			for _, dependent := range dependents[member] {
				if r.loopOf(dependent) != loop && r.mark(dependent, 0) {
					todo = append(todo, dependent)
				}
			}
		}
	}
}

// changes returns the changes that reset the marked nodes, and that move each loop in r.back back to its iteration in
// r.back. In such a loop, the changes also remove the nodes of all later iterations.
func (r *resetter) changes() ([]snapshot.Change, error) {
	var out []snapshot.Change
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		from, marked := r.from[id]
		back, inLoop := r.back[r.loopOf(id)]
		for _, n := range r.byID[id] {
			var err error
			switch {
			case inLoop && n.Iteration > back:
				out, err = r.remove(out, n)
			case marked && n.Iteration >= from:
				out, err = r.reset(out, n)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return r.rewind(out)
}

// changesAlone returns the changes for noDeps. names are the names given to Nodes, and exact are the keys among these
// names. For a name that is a node id, the changes reset all iterations of the node. But if the node is in a loop, they
// reset only the first iteration and remove the other iterations. For a key in exact, they reset only this iteration.
// The changes also move the loops of the nodes back: see rewind.
func (r *resetter) changesAlone(names, exact []string) ([]snapshot.Change, error) {
	var out []snapshot.Change
	for _, id := range slices.Sorted(maps.Keys(r.from)) {
		whole := slices.Contains(names, id)
		inLoop := r.loopOf(id) != ""
		for _, n := range r.byID[id] {
			var err error
			switch {
			case whole && inLoop && n.Iteration > 0:
				out, err = r.remove(out, n)
			case whole || slices.Contains(exact, snapshot.Key(id, n.Iteration)):
				out, err = r.reset(out, n)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return r.rewind(out)
}

// reset appends to out the changes that clear the node n and make it pending without a last attempt. See clear. If n
// already has this state, its row is not changed.
func (r *resetter) reset(out []snapshot.Change, n snapshot.Node) ([]snapshot.Change, error) {
	out, err := r.clear(out, n)
	if err != nil || n.State == snapshot.NodePending && n.LastAttempt == nil {
		return out, err
	}
	n.State, n.LastAttempt = snapshot.NodePending, nil
	row := snapshot.EncodeNode(n)
	return append(out, snapshot.SetRow(snapshot.CollectionNodes, row)), nil
}

// remove appends to out the changes that clear the node n and remove its row. See clear.
func (r *resetter) remove(out []snapshot.Change, n snapshot.Node) ([]snapshot.Change, error) {
	out, err := r.clear(out, n)
	return append(out, snapshot.RemoveRow(snapshot.CollectionNodes, snapshot.Key(n.NodeID, n.Iteration))), err
}

// clear appends to out the changes that remove the outputs of the node n and its approvals, human requests and waits.
// Signals stay, because the key of a signal is not the key of a node.
func (r *resetter) clear(out []snapshot.Change, n snapshot.Node) ([]snapshot.Change, error) {
	key := snapshot.Key(n.NodeID, n.Iteration)
	for name, rows := range results(r.state) {
		_, found, err := rows.Get(key)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, key, err)
		}
		if found {
			out = append(out, snapshot.RemoveRow(name, key))
		}
	}
	return out, nil
}

// rewind appends to out the changes for the loops in r.back: each loop moves back to its iteration in r.back and is
// not done. rewind never moves a loop forward, and skips a loop without a row.
func (r *resetter) rewind(out []snapshot.Change) ([]snapshot.Change, error) {
	for _, id := range slices.Sorted(maps.Keys(r.back)) {
		value, found, err := r.state.Loops().Get(id)
		if err != nil {
			return nil, fmt.Errorf("loop %q: %w", id, err)
		}
		if !found {
			continue
		}
		before, err := snapshot.DecodeLoop(page.Row{Key: id, Value: value})
		if err != nil {
			return nil, err
		}
		after := snapshot.Loop{RalphID: id, Iteration: min(before.Iteration, r.back[id])}
		if after != before {
			out = append(out, snapshot.SetRow(snapshot.CollectionLoops, snapshot.EncodeLoop(after)))
		}
	}
	return out, nil
}
