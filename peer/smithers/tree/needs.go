package tree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allNeeds limits the total number of needs of a state's nodes.
const allNeeds = 1 << 20

// PlaceNodes sets the needs and the loop of every node that has a place in the tree. The needs of other nodes stay
// nil. If there are too many needs, the error is snapshot.ErrLimit.
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
			return fmt.Errorf("%w: the nodes need each other in more than %d ways", snapshot.ErrLimit, allNeeds)
		}
	}
	return nil
}

// KeepPlaces gives nodes that are no longer in the rendered tree their earlier needs and loop. So a branch that is
// not taken any more does not count as a change.
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

// splitScope splits a node's id into its id in the tree and the scope, which is "" outside nested loops.
func splitScope(id string) (logical, scope string) {
	if i := strings.Index(id, scopeMark); i > 0 {
		return id[:i], id[i:]
	}
	return id, ""
}

// scopeWithin returns the scope of loops that are nested at a node.
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

// nodeIDs indexes the ids of nodes.
type nodeIDs struct {
	exist map[string]bool
	of    map[string][]string // the nodes' ids, by their id in the tree
	found int                 // number of ids visited by find
}

func (ids *nodeIDs) add(id string) {
	if !ids.exist[id] {
		ids.exist[id] = true
		logical, _ := splitScope(id)
		ids.of[logical] = append(ids.of[logical], id)
	}
}

// find returns the ids of the nodes that need, an id in the tree, means for a node with the given scope. It prefers the
// node that shares the most outer iterations with scope, then the nodes of loops below inside, then all nodes with
// that id. If no node has the id yet, it returns need itself.
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
