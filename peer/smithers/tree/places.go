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

// Places returns the places of all tasks of a rendered tree, by their ids. tree is canonical, or "". A task
// of a sequence needs the last tasks of the previous child. The tasks of a parallel do not need each other;
// the task after the parallel needs the last tasks of all its children. Dependencies that tasks declare only
// as data (deps, needs, dependsOn) are missing from the trees that Smithers keeps. The result is nil if tree
// is "" or cannot be parsed.
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
	path  []int    // the indexes from the root to the element, from which loops without an id get one
}

// child returns the spot of the i-th child of the element at s.
func (s spot) child(i int) spot {
	s.path = append(slices.Clip(s.path), i)
	return s
}

// walk places the tasks of the element e at the position at, and returns the ids of the tasks that end last:
// the following elements wait for them. If the result is nil, the following elements wait for the same tasks as
// e.
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

// ralphID returns the id of the loop e. A loop without an id gets one from path, the loop's path in the tree.
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

// task places the task e, and returns its id as the task that ends last. It returns nil if e has no id, or if the
// following elements do not wait for e. at is the position of e. A task with the property fork also needs the
// task that fork names.
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

// sequence places children that run one after another, and returns the tasks that end last. at is the position of
// the element that has the children.
func (p *placer) sequence(children []*Element, at spot) (ends []string) {
	for i, child := range elementsOnly(children) {
		if last := p.walk(child, at.child(i)); last != nil {
			at.after, ends = last, last
		}
	}
	return ends
}

// parallel places children that run at the same time, and returns the tasks that end last, sorted. at is the
// position of the element that has the children.
func (p *placer) parallel(children []*Element, at spot) (ends []string) {
	for i, child := range elementsOnly(children) {
		ends = append(ends, p.walk(child, at.child(i))...)
	}
	return sortedSet(ends)
}

// sortedSet returns ids sorted and without duplicates. If ids is already sorted, the result is ids itself,
// even with duplicates.
func sortedSet(ids []string) []string {
	if slices.IsSorted(ids) {
		return ids
	}
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// saga places the actions of e, which run one after another, and the compensations of the actions. at is the
// position of e. saga returns the tasks that end last. A compensation runs after its action, and after the
// compensation of the following action.
func (p *placer) saga(e *Element, at spot) (ends []string) {
	var actions [][]string
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

// compensations places the compensations in e, which run in reverse order, and returns the tasks that end last.
// actions has the last tasks of each action: a compensation also waits for the action with the same index.
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

// tryCatch places the parts of e: first the tried elements, then the catch elements, then the finally elements.
// Each part waits for the parts before it. tryCatch returns the tasks that end last.
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

// elementsOnly returns a copy of nodes without texts, because texts do not count as children.
func elementsOnly(nodes []*Element) []*Element {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *Element) bool { return n == nil || n.Tag == "" })
}
