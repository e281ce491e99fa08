package tree

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allNeeds is the greatest total number of needs of a state's nodes.
const allNeeds = 1 << 20

// PlaceNodes sets Needs and RalphID of each node whose task is in the rendered tree, and leaves the other nodes
// unchanged. places is the result of Places: the tasks that each task needs, and its loop, by the id of the task. If
// the nodes have more than allNeeds needs, the error wraps snapshot.ErrLimit.
func PlaceNodes(nodes []snapshot.Node, places map[string]Place) error {
	if len(places) == 0 {
		return nil
	}
	ids := nodeIDs{exist: make(map[string]bool), of: make(map[string][]string)}
	for _, n := range nodes {
		ids.add(n.NodeID)
	}
	for i := range nodes {
		n := &nodes[i]
		id, scope := snapshot.SplitScope(n.NodeID)
		p, ok := places[id]
		if !ok {
			continue
		}
		if p.RalphID != "" {
			n.RalphID = new(p.RalphID + scope)
		}
		// Needs must not be nil, because KeepPlaces takes nil for a missing task.
		n.Needs = make([]string, 0, len(p.Needs))
		inside := snapshot.ScopeWithin(scope, p.RalphID, n.Iteration)
		for _, need := range p.Needs {
			n.Needs = append(n.Needs, ids.find(need, scope, inside)...)
		}
		if ids.found > allNeeds {
			return fmt.Errorf("%w: the nodes have more than %d needs", snapshot.ErrLimit, allNeeds)
		}
	}
	return nil
}

// KeepPlaces sets Needs and RalphID of each node whose Needs is nil. The task of such a node is no longer in the
// rendered tree. KeepPlaces copies both fields from the node with the same key in before, the previous state. If before
// lacks the node, KeepPlaces leaves the node unchanged. Without KeepPlaces, the state of a node would change when its
// task leaves the rendered tree.
func KeepPlaces(nodes []snapshot.Node, before *snapshot.State) error {
	for i := range nodes {
		n := &nodes[i]
		if n.Needs != nil {
			continue
		}
		key := snapshot.Key(n.NodeID, n.Iteration)
		value, ok, err := before.Nodes().Get(key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		was, err := snapshot.DecodeNode(page.Row{Key: key, Value: value})
		if err != nil {
			return err
		}
		n.Needs, n.RalphID = was.Needs, was.RalphID
	}
	return nil
}

// nodeIDs is an index of the ids of nodes.
type nodeIDs struct {
	exist map[string]bool
	of    map[string][]string // the nodes' ids, by the id in the tree
	found int                 // the number of ids that find has visited
}

// add adds the id of a node to the index. If the index already has the id, add does nothing.
func (ids *nodeIDs) add(id string) {
	if !ids.exist[id] {
		ids.exist[id] = true
		logical, _ := snapshot.SplitScope(id)
		ids.of[logical] = append(ids.of[logical], id)
	}
}

// find returns the ids of the nodes for one need of a node. need is the id of the needed task in the tree. scope is
// the scope of the needing node. inside is the scope of the loops within its loop: see snapshot.ScopeWithin. The result is the
// first of these that exists:
//  1. the node of need that shares the most outer iterations with scope
//  2. the nodes of need whose scope equals the parameter inside or begins with it
//  3. all nodes of need
//  4. need itself, which has no node yet
func (ids *nodeIDs) find(need, scope, inside string) []string {
	ids.found++
	for {
		if ids.exist[need+scope] {
			return []string{need + scope}
		}
		if scope == "" {
			break
		}
		// Remove the innermost iteration from scope.
		scope = scope[:max(strings.LastIndexByte(scope, ','), 0)]
	}
	known := ids.of[need]
	if len(known) == 0 {
		return []string{need}
	}
	ids.found += len(known)
	var within []string
	for _, id := range known {
		if rest, ok := strings.CutPrefix(id, need+inside); ok && (rest == "" || rest[0] == ',') {
			within = append(within, id)
		}
	}
	if within != nil {
		return within
	}
	return known
}
