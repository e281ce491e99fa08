// Package reset computes the changes of a state that make nodes run again.
package reset

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ErrUnknownNode is wrapped by the error about a node name that no node of the state has.
var ErrUnknownNode = errors.New("no such node")

// Nodes returns the changes that make nodes run again. The nodes become pending without a last attempt, and their
// outputs, approvals, human requests and waits are removed. Signals stay. Each element of nodes is a node id, which
// selects all iterations of the node, or "nodeId::iteration", which selects this iteration and the later iterations, or
// the id of a task in a nested loop without its scope, which selects the nodes of all scopes. If noDeps is true, the key
// selects this iteration alone. If a node is unknown, the error wraps ErrUnknownNode.
//
// Unless noDeps is true, Nodes also resets all nodes that need a named node, directly or through other nodes.
//
// If a node of a loop is reset, the loop goes back to the first iteration that is reset, and is not done. The loop
// repeats its work from this iteration on. So Nodes removes the loop's nodes of later iterations, with their outputs,
// and resets every node outside of the loop that needs a node of the loop. Nodes of this iteration and of earlier
// iterations stay, unless they need a node that is reset. The same goes for the loops around that loop. If noDeps is
// true, only the named nodes are reset, and later iterations of other nodes stay.
func Nodes(s *snapshot.State, nodes []string, noDeps bool) ([]snapshot.Change, error) {
	r, err := newResetter(s.AllNodes(), nodes)
	if err != nil {
		return nil, err
	}
	r.state = s
	if noDeps {
		return r.changesAlone()
	}
	r.spread()
	return r.changes(r.fate)
}

// Dependents returns the changes that make the nodes run again that need one of the given nodes, directly or through other nodes, as [Nodes] does. The given
// nodes stay, unless a loop goes back to an iteration before theirs for another one of them. Each key is "nodeId::iteration".
func Dependents(s *snapshot.State, keys []string) ([]snapshot.Change, error) {
	r, err := newResetter(s.AllNodes(), nil)
	if err != nil {
		return nil, err
	}
	r.state = s
	for _, key := range keys {
		id, iteration, err := snapshot.SplitKey(key)
		if err != nil {
			return nil, err
		}
		r.exact[key] = true
		r.mark(id, iteration)
	}
	r.spread()
	return r.changes(func(n snapshot.Node) fate {
		if of := r.fate(n); of == removes || !r.exact[snapshot.Key(n.NodeID, n.Iteration)] {
			return of
		}
		return stays
	})
}

// Reach returns a function that reports whether [Nodes] would reset or remove a node, in a state with the nodes of all. If a name is unknown, the
// error wraps ErrUnknownNode.
func Reach(all iter.Seq2[snapshot.Node, error], names []string, noDeps bool) (func(snapshot.Node) bool, error) {
	r, err := newResetter(all, names)
	if err != nil {
		return nil, err
	}
	fate := r.fateAlone
	if !noDeps {
		r.spread()
		fate = r.fate
	}
	return func(n snapshot.Node) bool { return fate(n) != stays }, nil
}

// resetter finds the nodes and loops that a reset reaches.
type resetter struct {
	state *snapshot.State
	byID  map[string][]snapshot.Node // all iterations of each node
	from  map[string]int             // id of a marked node -> first iteration that is reset
	back  map[string]int             // ralph id -> iteration that the loop goes back to
	whole map[string]bool            // ids of the nodes that were named without an iteration
	exact map[string]bool            // keys of the nodes that were named with an iteration
}

// newResetter returns a resetter of a state with the nodes of all, which has marked the nodes that names selects.
func newResetter(all iter.Seq2[snapshot.Node, error], names []string) (*resetter, error) {
	r := &resetter{
		byID: make(map[string][]snapshot.Node), from: make(map[string]int), back: make(map[string]int),
		whole: make(map[string]bool), exact: make(map[string]bool),
	}
	for n, err := range all {
		if err != nil {
			return nil, err
		}
		r.byID[n.NodeID] = append(r.byID[n.NodeID], n)
	}
	for _, name := range names {
		if err := r.name(name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// name marks the nodes that a name selects. For the meaning of names, see Nodes. If no node has the name, the error wraps ErrUnknownNode.
func (r *resetter) name(name string) error {
	if _, ok := r.byID[name]; ok {
		r.whole[name] = true
		r.mark(name, 0)
		return nil
	}
	if id, iteration, err := snapshot.SplitKey(name); err == nil {
		if slices.ContainsFunc(r.byID[id], func(n snapshot.Node) bool { return n.Iteration == iteration }) {
			r.exact[snapshot.Key(id, iteration)] = true
			r.mark(id, iteration)
			return nil
		}
	}
	found := false
	for id := range r.byID {
		if task, _ := snapshot.SplitScope(id); task == name {
			found = true
			r.whole[id] = true
			r.mark(id, 0)
		}
	}
	if !found {
		return fmt.Errorf("%w: %q", ErrUnknownNode, name)
	}
	return nil
}

// mark records that a node is to be reset from the given iteration on, and that the loops around the node go back to their iterations for it. id is
// the node's id. If the node is already marked from this or an earlier iteration on, mark changes nothing and returns false.
func (r *resetter) mark(id string, iteration int) bool {
	if at, ok := r.from[id]; ok && at <= iteration {
		return false
	}
	r.from[id] = iteration
	for loop, iteration := range snapshot.LoopsAround(r.loopOf(id), iteration) {
		if at, ok := r.back[loop]; !ok || iteration < at {
			r.back[loop] = iteration
		}
	}
	return true
}

// loopOf returns the id of the loop that contains a node, or nil if the node is not in a loop. id is the node's id.
func (r *resetter) loopOf(id string) *string {
	for _, n := range r.byID[id] {
		if n.RalphID != nil {
			return n.RalphID
		}
	}
	return nil
}

// spread marks all nodes that need a marked node, directly or through other nodes. A dependent in a loop that is also around the marked node is
// marked from the loop's iteration for that node on. Any other dependent is marked from iteration 0 on. If a node of a loop is marked, spread also
// marks every node outside of the loop that needs any node of the loop.
func (r *resetter) spread() {
	dependents := make(map[string][]string)
	members := make(map[string][]string)
	for id, iterations := range r.byID {
		for loop := range snapshot.LoopsAround(r.loopOf(id), 0) {
			members[loop] = append(members[loop], id)
		}
		for _, n := range iterations {
			for _, need := range n.Needs {
				dependents[need] = append(dependents[need], id)
			}
		}
	}
	left := make(map[string]bool)             // the loops whose dependents outside are marked
	todo := slices.Collect(maps.Keys(r.from)) // marked nodes whose dependents are not marked yet
	for len(todo) > 0 {
		id := todo[0]
		todo = todo[1:]
		around := maps.Collect(snapshot.LoopsAround(r.loopOf(id), r.from[id]))
		visit := func(dependent string) {
			if iteration, reached := r.reached(dependent, around); reached && r.mark(dependent, iteration) {
				todo = append(todo, dependent)
			}
		}
		for _, dependent := range dependents[id] {
			visit(dependent)
		}
		for loop := range around {
			if left[loop] {
				continue
			}
			left[loop] = true
			for _, member := range members[loop] {
				for _, dependent := range dependents[member] {
					if !r.within(dependent, loop) {
						visit(dependent)
					}
				}
			}
		}
	}
}

// reached returns the iteration from which a dependent of a marked node is reset. around has the loops around the marked node, with their iterations
// for it. reached is false if an iteration before that one contains the dependent.
func (r *resetter) reached(dependent string, around map[string]int) (iteration int, reached bool) {
	loop := r.loopOf(dependent)
	if loop == nil {
		return 0, true
	}
	if iteration, ok := around[*loop]; ok {
		return iteration, true
	}
	for outer, at := range snapshot.LoopsAround(loop, 0) {
		if from, ok := around[outer]; ok && at < from {
			return 0, false
		}
	}
	return 0, true
}

// within reports whether the node with the given id is in a loop, however deep.
func (r *resetter) within(id, loop string) bool {
	for around := range snapshot.LoopsAround(r.loopOf(id), 0) {
		if around == loop {
			return true
		}
	}
	return false
}

// fate is what a reset does with a node.
type fate int

const (
	stays   fate = iota
	resets       // the node becomes pending
	removes      // the node's row goes
)

// fate returns what becomes of a node if its dependents are reset, too: the nodes of later iterations than those in r.back are removed.
func (r *resetter) fate(n snapshot.Node) fate {
	for loop, iteration := range snapshot.LoopsAround(n.RalphID, n.Iteration) {
		if back, ok := r.back[loop]; ok && iteration > back {
			return removes
		}
	}
	if from, marked := r.from[n.NodeID]; marked && n.Iteration >= from {
		return resets
	}
	return stays
}

// fateAlone returns what becomes of a node for noDeps. Of a node that was named without an iteration, all iterations are reset. But if the node is
// in a loop, only the first one is, and the others are removed. Of a key, only this iteration is reset.
func (r *resetter) fateAlone(n snapshot.Node) fate {
	switch {
	case r.whole[n.NodeID] && n.RalphID != nil && n.Iteration > 0:
		return removes
	case r.whole[n.NodeID] || r.exact[snapshot.Key(n.NodeID, n.Iteration)]:
		return resets
	}
	return stays
}

// changes returns the changes that reset the marked nodes, and that move each loop in r.back back to its iteration in
// r.back. In such a loop, the changes also remove the nodes and the nested loops of all later iterations. of says what the
// changes do with each node.
func (r *resetter) changes(of func(snapshot.Node) fate) ([]snapshot.Change, error) {
	out, err := r.carryOut(of)
	if err != nil {
		return nil, err
	}
	for l, err := range r.state.AllLoops() {
		if err != nil {
			return nil, err
		}
		for outer, iteration := range loopsAroundLoop(l.RalphID) {
			if back, ok := r.back[outer]; ok && iteration > back {
				out = append(out, snapshot.RemoveRow(snapshot.CollectionLoops, l.RalphID))
				delete(r.back, l.RalphID)
				break
			}
		}
	}
	return r.rewind(out)
}

// loopsAroundLoop yields the loops around a loop, as snapshot.LoopsAround does for a node.
func loopsAroundLoop(id string) iter.Seq2[string, int] {
	outer, iteration, ok := snapshot.OuterLoop(id)
	if !ok {
		return snapshot.LoopsAround(nil, 0)
	}
	return snapshot.LoopsAround(&outer, iteration)
}

// changesAlone returns the changes for noDeps. See fateAlone. The changes also move the loops of the nodes back: see rewind.
func (r *resetter) changesAlone() ([]snapshot.Change, error) {
	out, err := r.carryOut(r.fateAlone)
	if err != nil {
		return nil, err
	}
	return r.rewind(out)
}

// carryOut returns the changes that do with each node what of says.
func (r *resetter) carryOut(of func(snapshot.Node) fate) (out []snapshot.Change, err error) {
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		for _, n := range r.byID[id] {
			switch of(n) {
			case removes:
				out, err = r.remove(out, n)
			case resets:
				out, err = r.reset(out, n)
			case stays:
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
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
