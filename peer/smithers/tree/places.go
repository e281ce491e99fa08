package tree

import (
	"slices"
	"strconv"
	"strings"
)

// Place is where a task stands in a rendered tree.
type Place struct {
	Needs   []string // ids of the tasks that have to end before it begins, those nearest to it
	RalphID string   // the innermost loop it is in; "" for none
}

// Places reads the places of all tasks of a rendered tree (canonical, "" for none) by their
// ids: a task of a sequence needs what ends the child before it, those of a parallel nothing of
// each other; so does what follows them need all that these end with. What tasks only name to each
// other as data (deps, needs, dependsOn) is not in the trees that Smithers keeps.
func Places(tree string) map[string]Place {
	root := Parse(tree)
	if root == nil {
		return nil
	}
	p := placer{at: make(map[string]Place)}
	p.walk(root, spot{})
	return p.at
}

// placer walks a tree as Smithers' scheduler does.
type placer struct{ at map[string]Place }

// spot is where the walk is.
type spot struct {
	after []string // the tasks that have to end first
	ralph string
	path  []int // of the element among those of its parents, for ids that are not given
}

func (s spot) child(i int) spot {
	s.path = append(slices.Clip(s.path), i)
	return s
}

// walk places the tasks of an element, and returns those that it ends with: what follows has to
// wait for them. None means that it waits for what the element itself waits for.
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
	// parallel, merge-queue, branch, worktree, and whatever else holds tasks.
	return p.parallel(e.Children, at)
}

// ralphID returns a loop's id. A loop without an id is named by its place.
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
	if e.Props["waitAsync"] == "true" { // what follows does not wait while it waits
		return nil
	}
	return []string{id}
}

// sequence places children that run one after the other.
func (p *placer) sequence(children []*Element, at spot) (ends []string) {
	for i, child := range elementsOnly(children) {
		if last := p.walk(child, at.child(i)); last != nil {
			at.after, ends = last, last
		}
	}
	return ends
}

// parallel places children that run beside each other.
func (p *placer) parallel(children []*Element, at spot) (ends []string) {
	for i, child := range elementsOnly(children) {
		ends = append(ends, p.walk(child, at.child(i))...)
	}
	return sortedSet(ends)
}

// sortedSet sorts a copy, unless ids is sorted.
func sortedSet(ids []string) []string {
	if slices.IsSorted(ids) {
		return ids
	}
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// saga places actions that run one after the other, and what takes each of them back: after
// the action, and after what takes back the action that followed.
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

// tryCatch places what is tried, what catches it after that, and what comes finally after both.
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

func orElse(ids, otherwise []string) []string {
	if len(ids) > 0 {
		return ids
	}
	return otherwise
}

// elementsOnly leaves texts out, which do not count where children are counted.
func elementsOnly(nodes []*Element) []*Element {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *Element) bool { return n == nil || n.Tag == "" })
}
