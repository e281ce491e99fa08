package rendered

import (
	"slices"
	"sort"
)

// diffTrees returns the ops that turn the old tree into the new tree. The parameter from is the old tree, and to is
// the new tree. The order of the ops depends only on the trees. For each node, the order is:
//  1. changes of props, sorted by name
//  2. removals of children, from the last to the first
//  3. insertions of children, from the first to the last
//  4. changes within the remaining children, in their new order
func diffTrees(from, to *Tree) []deltaOp {
	var d differ
	d.node(from, to, "")
	return d.ops
}

// differ collects the ops of diffTrees.
type differ struct {
	ops  []deltaOp
	path []step // the path of the nodes that are being compared
}

// emit appends the op o with the path of the current node, followed by steps.
func (d *differ) emit(o deltaOp, steps ...step) {
	o.path = slices.Concat(d.path, steps)
	d.ops = append(d.ops, o)
}

// node appends the ops that turn the old node at the current path into the new node. The parameter from is the old
// node, and to is the new node. Either may be nil. nearest is the id of the nearest enclosing element with an id, or
// "".
func (d *differ) node(from, to *Tree, nearest string) {
	if from == nil || to == nil || from.isText != to.isText || from.tag != to.tag {
		if from != to { // false only if both are nil
			d.emit(deltaOp{op: opSet, node: to, isNode: true, nodeID: nearestID(to, nearest)})
		}
		return
	}
	if to.isText {
		if from.text != to.text {
			d.emit(deltaOp{op: opSet, value: to.text, nodeID: nearest}, nameStep(stepText))
		}
		return
	}
	nearest = nearestID(to, nearest)
	d.props(from, to, nearest)
	d.children(from.children, to.children, nearest)
}

// nearestID returns the id of n, or enclosing if n is nil or has no id. enclosing is the id of the nearest enclosing
// element with an id.
func nearestID(n *Tree, enclosing string) string {
	if n != nil {
		if id := n.id(); id != "" {
			return id
		}
	}
	return enclosing
}

// props appends the ops that turn the props of the old node into the props of the new node. The parameter from is the
// old node, and to is the new node. Both lists of props are sorted, and the function merges them. nearest is the id
// of the nearest element with an id, or "".
func (d *differ) props(from, to *Tree, nearest string) {
	i, j := 0, 0
	for i < len(from.props) || j < len(to.props) {
		order := 0 // negative if only from has the next prop, positive if only to has the next prop
		switch {
		case i == len(from.props):
			order = 1
		case j == len(to.props):
			order = -1
		default:
			order = compareProps(from.props[i], to.props[j])
		}
		if order < 0 {
			d.emit(deltaOp{op: opRemove, nodeID: nearest}, nameStep(stepProps), nameStep(from.props[i].name))
			i++
			continue
		}
		if order > 0 || from.props[i].value != to.props[j].value {
			d.emit(deltaOp{op: opSet, value: to.props[j].value, nodeID: nearest}, nameStep(stepProps), nameStep(to.props[j].name))
		}
		if order == 0 {
			i++
		}
		j++
	}
}

// children appends the ops that turn the old children into the new children. The parameter from has the old children,
// and to has the new children. Equal children at both ends need no op. Among the others, pairChildren selects the old
// children that stay. The other old children are removed, and the other new children are inserted. Then each child
// that stays is compared with its new form. nearest is the id of the nearest element with an id, or "".
func (d *differ) children(from, to []*Tree, nearest string) {
	head := 0
	for head < len(from) && head < len(to) && from[head].equal(to[head]) {
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && from[len(from)-1-tail].equal(to[len(to)-1-tail]) {
		tail++
	}
	from, to = from[head:len(from)-tail], to[head:len(to)-tail]
	pairs := pairChildren(from, to)
	stays := make(map[int]bool, len(pairs))
	for _, p := range pairs {
		stays[p.from] = true
	}
	for i, child := range slices.Backward(from) { // backward, so that the indexes of later removals stay valid
		if !stays[i] {
			d.emit(deltaOp{op: opRemove, nodeID: nearestID(child, nearest)}, nameStep(stepChildren), indexStep(head+i))
		}
	}
	rest := pairs
	for j, child := range to {
		if len(rest) > 0 && rest[0].to == j {
			rest = rest[1:]
			continue
		}
		d.emit(deltaOp{op: opInsert, node: child, isNode: true, nodeID: nearestID(child, nearest)}, nameStep(stepChildren), indexStep(head+j))
	}
	for _, p := range pairs {
		d.path = append(d.path, nameStep(stepChildren), indexStep(head+p.to))
		d.node(from[p.from], to[p.to], nearest)
		d.path = d.path[:len(d.path)-2]
	}
}

// pair is a child that stays: its index in the old and in the new list.
type pair struct{ from, to int }

// identity identifies a child among its siblings by its kind, its id or, without an id, its tag, and the number of
// earlier siblings with the same kind and the same id or tag.
type identity struct {
	id, tag string
	isText  bool
	nth     int
}

// identities returns the identity of each child, in the order of children. No two children have the same identity,
// because the field nth counts the earlier children with the same id or, without an id, the same kind and tag.
func identities(children []*Tree) []identity {
	out := make([]identity, len(children))
	seen := make(map[identity]int, len(children))
	for i, c := range children {
		out[i] = identity{id: c.id(), tag: c.tag, isText: c.isText}
		if out[i].id != "" {
			out[i].tag = ""
		}
		nth := seen[out[i]]
		seen[out[i]] = nth + 1
		out[i].nth = nth
	}
	return out
}

// pairChildren selects the children that stay: a longest list of children that are in both lists in the same order.
// Children with the same identity are the same child. Each pair has the old index and the new index of a child.
// Identities in a list are unique, so the result is a longest increasing subsequence of the old indexes, taken in the
// new order.
func pairChildren(from, to []*Tree) []pair {
	places := make(map[identity]int, len(from))
	for i, id := range identities(from) {
		places[id] = i
	}
	var all []pair
	for j, id := range identities(to) {
		if i, ok := places[id]; ok {
			all = append(all, pair{i, j})
		}
	}
	// ends[k] is the index of the last pair of an increasing list of k+1 pairs. If there are several such lists,
	// ends[k] is for the list whose last pair has the smallest old index. before[n] is the index of the pair before
	// pair n in its list, or -1. All these indexes are indexes in the slice all.
	var ends []int
	before := make([]int, len(all))
	for n, p := range all {
		k := sort.Search(len(ends), func(k int) bool { return all[ends[k]].from >= p.from })
		before[n] = -1
		if k > 0 {
			before[n] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, n)
		} else {
			ends[k] = n
		}
	}
	pairs := make([]pair, len(ends))
	if len(ends) > 0 {
		for k, n := len(ends)-1, ends[len(ends)-1]; k >= 0; k, n = k-1, before[n] {
			pairs[k] = all[n]
		}
	}
	return pairs
}
