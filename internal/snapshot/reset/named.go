package reset

import (
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Named returns the changes by which Smithers makes nodes run again when it forks a run. The named nodes become
// pending without a last attempt. Nothing else changes: outputs, loops, the mailbox and dependent nodes stay. A node
// that is already pending without a last attempt needs no change.
//
// Each element of nodes is a node id, which selects all iterations of the node. As in Smithers, the part of a node id
// before its first "::" also selects the node. If an element is neither a node id nor such a part, it must have the
// form "nodeId::iteration", which selects one iteration. If an element selects no node, the error wraps ErrUnknownNode.
func Named(s *snapshot.State, nodes []string) ([]snapshot.Change, error) {
	var all []snapshot.Node
	for n, err := range s.AllNodes() {
		if err != nil {
			return nil, fmt.Errorf("nodes: %w", err)
		}
		all = append(all, n)
	}
	reset := make(map[string]bool)
	for _, name := range nodes {
		keys := namedKeys(all, name)
		if len(keys) == 0 {
			return nil, fmt.Errorf("%w: %q", ErrUnknownNode, name)
		}
		for _, key := range keys {
			reset[key] = true
		}
	}
	var out []snapshot.Change
	for _, n := range all {
		if reset[snapshot.Key(n.NodeID, n.Iteration)] && (n.State != snapshot.NodePending || n.LastAttempt != nil) {
			n.State, n.LastAttempt = snapshot.NodePending, nil
			out = append(out, snapshot.SetRow(snapshot.CollectionNodes, snapshot.EncodeNode(n)))
		}
	}
	return out, nil
}

// namedKeys returns the keys of the nodes that name selects, in the order of nodes. For the meaning of name, see
// Named. If name selects no node, the result is nil.
func namedKeys(nodes []snapshot.Node, name string) []string {
	var keys []string
	exact := false
	for _, n := range nodes {
		key := snapshot.Key(n.NodeID, n.Iteration)
		base, _, _ := strings.Cut(key, "::")
		if base == name || n.NodeID == name {
			keys = append(keys, key)
		}
		exact = exact || key == name
	}
	if len(keys) == 0 && exact {
		return []string{name}
	}
	return keys
}
