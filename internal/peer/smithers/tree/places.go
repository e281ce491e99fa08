package tree

import (
	"slices"
	"strconv"
	"strings"
)

// Place is the position of a task in a rendered tree.
type Place struct {
	Needs   []string // sorted ids of the nearest tasks that must end before the task begins
	RalphID string   // the id of the innermost loop around the task; "" outside loops
}

// Places returns the position of each task in a rendered tree, by the id of the task. tree must be canonical, or "".
// The result is nil if tree is "" or cannot be parsed.
//
// In a sequence, a task needs the last tasks of the previous child. The tasks of a parallel element do not need each
// other. The task after a parallel element needs the last tasks of all its children. A dependency that a task
// declares only as data (deps, needs, dependsOn) is not in the result, because the trees that Smithers keeps lack it.
func Places(tree string) map[string]Place {
	root := Parse(tree)
	if root == nil {
		return nil
	}
	p := placer{at: make(map[string]Place)}
	p.walk(root, spot{})
	return p.at
}

// placer walks a tree in the same way as Smithers' scheduler. at has the places found so far, by task id.
type placer struct{ at map[string]Place }

// spot describes the position of the walk.
type spot struct {
	after []string // the tasks that must end before the element begins
	ralph string   // the id of the innermost loop around the element; "" outside loops
	path  []int    // the indexes from the root to the element; ralphID makes the id of a loop without an id from them
}

// child returns the spot of the i-th child of the element at s.
func (s spot) child(i int) spot {
	// Clip makes append copy the path, because the spots of other children share its array.
	s.path = append(slices.Clip(s.path), i)
	return s
}

// walk adds the tasks in the element e to p.at. at is the position of e. walk returns the ids of the tasks in e that
// end last: the element after e waits for these tasks. If the result is nil, the element after e waits for the tasks
// that e itself waits for.
func (p *placer) walk(e *Element, at spot) (ends []string) {
	switch e.Tag {
	case "smithers:task", "smithers:sandbox", "smithers:wait-for-event", "smithers:timer":
		return p.task(e, at)
	case "smithers:workflow", "smithers:sequence":
		return p.sequence(e.Children, at)
	case "smithers:subflow":
		if e.Props["mode"] == "inline" {
			return p.sequence(e.Children, at)
		}
		return p.task(e, at)
	case "smithers:ralph":
		at.ralph = ralphID(e, at.path)
	case "smithers:saga":
		return p.saga(e, at)
	case "smithers:try-catch-finally":
		return p.tryCatch(e, at)
	}
	// The children of all other elements, such as parallel, merge-queue, branch and worktree, run at the same time.
	return p.parallel(e.Children, at)
}

// ralphID returns the id of the loop e. If e has no id, the result is made from path, the position of e in the tree.
func ralphID(e *Element, path []int) string {
	if id := e.Props["id"]; strings.TrimSpace(id) != "" {
		return id
	}
	if len(path) == 0 {
		return "ralph:root"
	}
	parts := make([]string, len(path))
	for i, n := range path {
		parts[i] = strconv.Itoa(n)
	}
	return "ralph:" + strings.Join(parts, ".")
}

// task adds the task e to p.at. at is the position of e. A task with the property fork also needs the task that fork
// names. The result has the id of e, because the next element waits for e. It is nil if e has no id, or if e has
// waitAsync, so that the next element does not wait.
func (p *placer) task(e *Element, at spot) []string {
	id := e.Props["id"]
	if id == "" {
		return nil
	}
	needs := at.after
	if fork := e.Props["fork"]; fork != "" {
		needs = append(slices.Clip(needs), fork)
	}
	p.at[id] = Place{Needs: sortedSet(needs), RalphID: at.ralph}
	if e.Props["waitAsync"] == "true" {
		return nil
	}
	return []string{id}
}

// sequence places children, which run one after another. at is the position of the element that has the children. The
// result comes from the last child that has tasks to wait for: the tasks of this child that end last. Without such a
// child, the result is nil.
func (p *placer) sequence(children []*Element, at spot) (ends []string) {
	for i, child := range elementsOnly(children) {
		if last := p.walk(child, at.child(i)); last != nil {
			at.after, ends = last, last
		}
	}
	return ends
}

// parallel places children, which run at the same time. at is the position of the element that has the children.
// parallel returns the tasks that end last in any of the children, sorted.
func (p *placer) parallel(children []*Element, at spot) (ends []string) {
	for i, child := range elementsOnly(children) {
		ends = append(ends, p.walk(child, at.child(i))...)
	}
	return sortedSet(ends)
}

// sortedSet returns ids sorted and without duplicates. But if ids is already sorted, sortedSet returns ids itself,
// and keeps duplicates.
func sortedSet(ids []string) []string {
	if slices.IsSorted(ids) {
		return ids
	}
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// saga places the parts of the saga e. at is the position of e. The actions run one after another. Each compensation
// runs after its action, and after the compensation of the following action. saga returns the tasks that end last:
// those of the last action, and those of the compensations after the actions.
func (p *placer) saga(e *Element, at spot) (ends []string) {
	var actions [][]string
	// The tasks of the next child must begin after the actions so far.
	after := at
	for i, child := range elementsOnly(e.Children) {
		within := after.child(i)
		switch child.Tag {
		case "smithers:saga-compensations":
			ends = append(slices.Clip(ends), p.compensations(child, actions, within)...)
			continue
		case "smithers:saga-actions":
			for j, action := range elementsOnly(child.Children) {
				last := p.walk(action, within.child(j))
				actions = append(actions, last)
				if last != nil {
					within.after, after.after, ends = last, last, last
				}
			}
			continue
		}
		last := p.walk(child, within)
		actions = append(actions, last)
		if last != nil {
			after.after, ends = last, last
		}
	}
	return ends
}

// compensations places the compensations in e, which run in reverse order. at is the position of e. actions has the
// last tasks of each action: the compensation with index i also waits for actions[i]. compensations returns the tasks
// that end last.
func (p *placer) compensations(e *Element, actions [][]string, at spot) (ends []string) {
	children := elementsOnly(e.Children)
	for i, child := range slices.Backward(children) {
		within := at.child(i)
		within.after = slices.Clone(ends)
		if i < len(actions) {
			within.after = append(within.after, actions[i]...)
		}
		if last := p.walk(child, within); last != nil {
			ends = last
		}
	}
	return ends
}

// tryCatch places the parts of e: first the tried elements, then the catch elements, then the finally elements. at is
// the position of e. Each part waits for the parts before it. tryCatch returns the last tasks of the finally elements
// or, without such tasks, of the other parts.
func (p *placer) tryCatch(e *Element, at spot) (ends []string) {
	var tried, caught, final []string
	for i, child := range elementsOnly(e.Children) {
		within := at.child(i)
		switch child.Tag {
		case "smithers:tcf-catch":
			within.after = orElse(tried, at.after)
			caught = p.sequence(child.Children, within)
		case "smithers:tcf-finally":
			within.after = orElse(slices.Concat(tried, caught), at.after)
			final = p.sequence(child.Children, within)
		default:
			within.after = orElse(tried, at.after)
			if child.Tag == "smithers:tcf-try" {
				tried = orElse(p.sequence(child.Children, within), tried)
			} else {
				tried = orElse(p.walk(child, within), tried)
			}
		}
	}
	return orElse(final, slices.Concat(tried, caught))
}

// orElse returns ids, or fallback if ids is empty.
func orElse(ids, fallback []string) []string {
	if len(ids) > 0 {
		return ids
	}
	return fallback
}

// elementsOnly returns a copy of nodes without nil and without text nodes, which Smithers does not count as children.
func elementsOnly(nodes []*Element) []*Element {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *Element) bool { return n == nil || n.Tag == "" })
}
