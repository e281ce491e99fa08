package tree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allNeeds is the greatest total number of needs of a state's nodes.
const allNeeds = 1 << 20

// PlaceNodes sets Needs and RalphID of each of nodes whose task is in the rendered tree. at has the places of
// the tree's tasks, by id: see Places. PlaceNodes does not change the other nodes. If the nodes have more than
// allNeeds needs, the error wraps snapshot.ErrLimit.
func PlaceNodes(nodes []snapshot.Node, at map[string]Place) error {
	if len(at) == 0 {
		return nil
	}
	ids := nodeIDs{exist: make(map[string]bool), of: make(map[string][]string)}
	for _, n := range nodes {
		ids.add(n.NodeID)
	}
	for i := range nodes {
		n := &nodes[i]
		id, scope := splitScope(n.NodeID)
		p, ok := at[id]
		if !ok {
			continue
		}
		if p.RalphID != "" {
			n.RalphID = new(p.RalphID + scope)
		}
		n.Needs = make([]string, 0, len(p.Needs))
		inside := scopeWithin(scope, p.RalphID, n.Iteration)
		for _, need := range p.Needs {
			n.Needs = append(n.Needs, ids.find(need, scope, inside)...)
		}
		if ids.found > allNeeds {
			return fmt.Errorf("%w: the nodes have more than %d needs", snapshot.ErrLimit, allNeeds)
		}
	}
	return nil
}

// KeepPlaces sets Needs and RalphID of each node whose Needs is nil, because its task is no longer in the
// rendered tree. It copies both from the same node in before, the previous state, if before has the node. So a
// branch that is no longer taken does not count as a change.
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

// scopeMark separates the id of a node in a nested loop from the iterations of the outer loops: "write@@outer=1".
const scopeMark = "@@"

// splitScope returns the two parts of a node's id: its id in the tree, and the scope, which begins with
// scopeMark. The scope is "" outside nested loops.
func splitScope(id string) (logical, scope string) {
	if i := strings.Index(id, scopeMark); i > 0 {
		return id[:i], id[i:]
	}
	return id, ""
}

// scopeWithin returns the scope of the nodes in the loops inside a loop, at one iteration of the outer loop.
// ralph is the id of the outer loop, and scope is the scope of the outer loop. If ralph is "", there is no outer
// loop, and the result is scope.
func scopeWithin(scope, ralph string, iteration int) string {
	switch {
	case ralph == "":
		return scope
	case scope == "":
		scope = scopeMark
	default:
		scope += ","
	}
	return scope + ralph + "=" + strconv.Itoa(iteration)
}

// nodeIDs is an index of the ids of nodes.
type nodeIDs struct {
	exist map[string]bool
	of    map[string][]string // the nodes' ids, by the id in the tree
	found int                 // the number of ids that find has visited
}

// add adds a node's id to the index, unless the index has the id.
func (ids *nodeIDs) add(id string) {
	if !ids.exist[id] {
		ids.exist[id] = true
		logical, _ := splitScope(id)
		ids.of[logical] = append(ids.of[logical], id)
	}
}

// find returns the ids of the nodes that a node needs if its task needs the task need of the tree. scope is the
// scope of the needing node, and inside is the scope of the loops within its loop. find prefers the node of
// need that shares the most outer iterations with scope, then the nodes whose scope begins with inside, then
// all nodes of need. If need has no node yet, the result is need itself.
func (ids *nodeIDs) find(need, scope, inside string) []string {
	ids.found++
	for {
		if ids.exist[need+scope] {
			return []string{need + scope}
		}
		if scope == "" {
			break
		}
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
