// Package reset works out which changes of a state make nodes run again.
package reset

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ErrUnknownNode is wrapped by the error about a node that is not in the state.
var ErrUnknownNode = errors.New("no such node")

// Nodes returns the changes that make nodes run again: they become pending with no
// last attempt, and their outputs, approvals, human requests and waits go away. Signals
// stay. Each of nodes is a node id, which means all its iterations, or "nodeId::iteration".
// With noDeps only these nodes are reset; otherwise the nodes that need them are reset too, transitively.
//
// A loop with a node that is reset goes back to the first iteration that is reset,
// and is not done. The loop repeats its work from that iteration on. So the nodes of later
// iterations go away with their outputs, and every node outside of the loop that needs a node of
// the loop is reset too. Nodes of the iteration itself and of earlier iterations stay, unless they
// need a node that is reset. With noDeps, later iterations of other nodes stay.
//
// An unknown node is an error wrapping ErrUnknownNode.
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
	from  map[string]int             // node id -> first iteration that is reset
	back  map[string]int             // ralph id -> iteration that the loop goes back to
}

// find finds the node of a name. exact reports whether the name is of one iteration.
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

// mark marks a node to be reset from an iteration on, and reports whether it was not marked so before.
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

// loopOf returns the loop of a node, or "" if the node is not in a loop.
func (r *resetter) loopOf(id string) string {
	for _, n := range r.byID[id] {
		if n.RalphID != nil {
			return *n.RalphID
		}
	}
	return ""
}

// spread marks the nodes that need a marked node, transitively.
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
	todo := slices.Collect(maps.Keys(r.from))
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
		for _, member := range members[loop] {
			for _, dependent := range dependents[member] {
				if r.loopOf(dependent) != loop && r.mark(dependent, 0) {
					todo = append(todo, dependent)
				}
			}
		}
	}
}

// changes returns the changes that reset the marked nodes, and remove the later iterations of loops that go back.
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

// changesAlone returns the changes that reset the named nodes: all iterations of a node id, and the named iterations.
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

// reset adds the changes that make one node pending.
func (r *resetter) reset(out []snapshot.Change, n snapshot.Node) ([]snapshot.Change, error) {
	out, err := r.clear(out, n)
	if err != nil || n.State == snapshot.NodePending && n.LastAttempt == nil {
		return out, err
	}
	n.State, n.LastAttempt = snapshot.NodePending, nil
	row := snapshot.EncodeNode(n)
	return append(out, snapshot.SetRow(snapshot.CollectionNodes, row)), nil
}

// remove adds the changes that remove one node.
func (r *resetter) remove(out []snapshot.Change, n snapshot.Node) ([]snapshot.Change, error) {
	out, err := r.clear(out, n)
	return append(out, snapshot.RemoveRow(snapshot.CollectionNodes, snapshot.Key(n.NodeID, n.Iteration))), err
}

// clear removes a node's outputs and its rows in the mailbox. Signals stay, because their keys have another form.
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

// rewind adds the changes that set loops back.
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
