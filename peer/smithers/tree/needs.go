package tree

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// allNeeds bounds what the nodes of a state need, all together.
const allNeeds = 1 << 20

// PlaceNodes gives the nodes what they need and the loop they are in, those that have a place; the
// needs of others stay nil. More needs than can be are snapshot.ErrLimit.
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

// KeepPlaces leaves nodes that are not in the rendered tree any more where they were before: so a
// branch that is not taken now stays what it was, and is no change.
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

// scopeMark begins, in the id of a node of a loop in a loop, the iterations of the outer
// loops: "write@@outer=1".
const scopeMark = "@@"

func splitScope(id string) (logical, scope string) {
	if i := strings.Index(id, scopeMark); i > 0 {
		return id[:i], id[i:]
	}
	return id, ""
}

// scopeWithin is the scope of loops that begin where a node is.
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

// nodeIDs are the ids that nodes have.
type nodeIDs struct {
	exist map[string]bool
	of    map[string][]string // by the id that each has in the tree
	found int                 // how many have been looked at to find those that were asked for
}

func (ids *nodeIDs) add(id string) {
	if !ids.exist[id] {
		ids.exist[id] = true
		logical, _ := splitScope(id)
		ids.of[logical] = append(ids.of[logical], id)
	}
}

// find gives the ids of the nodes that a node means by an id of the tree: the one in as many
// of its own outer iterations as there is one for; or else those of loops within its own
// iteration; or else all. Where there are no such nodes yet, it is the id itself.
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
