package workflow

import (
	"maps"
	"slices"
	"strings"
)

// resolveNeeds sets Waits of every task from Needs. If a task needs a task of another loop, it waits for the whole
// loop. resolveNeeds reports two kinds of flaws: an unknown need, and a need of the loop that contains the task. It
// reports the flaws of all tasks.
func (p *parser) resolveNeeds() {
	if p.err != nil {
		return
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(p.wf.tasks)), maps.Keys(p.wf.loops))
	names = slices.AppendSeq(names, maps.Keys(p.cells))
	slices.Sort(names)
	for _, t := range p.wf.Tasks {
		t.Needs = p.withCells(t.Needs)
		for _, need := range t.Needs {
			target, ok := p.wf.tasks[need]
			switch {
			case !ok && p.wf.loops[need] == nil:
				p.failLine(t.line, suggest(need, names), "task %s needs %q, which is neither a task nor a loop", t.ID, need)
			case ok && target.Loop != "" && target.Loop != t.Loop:
				need = target.Loop
			case !ok && need == t.Loop:
				p.failLine(t.line, "name tasks of the loop instead of the loop itself", "task %s needs loop %s, which contains the task", t.ID, need)
			}
			if p.err != nil { // keep the flaw, and continue with the next need
				p.settle()
				continue
			}
			if !slices.Contains(t.Waits, need) {
				t.Waits = append(t.Waits, need)
			}
		}
	}
}

// edges returns the ids of the tasks and loops that the task with the given id waits for. For the id of a loop, it
// returns the ids of the loop's tasks.
func (w *Workflow) edges(id string) []string {
	if t, ok := w.tasks[id]; ok {
		return t.Waits
	}
	var ids []string
	for _, t := range w.loops[id].Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

// findCycle reports the first cycle of needs, in the order of the file, as a flaw.
func (p *parser) findCycle() {
	if p.err != nil {
		return
	}
	done := make(map[string]bool)
	var path []string
	// visit reports whether id reaches a cycle; path then holds the cycle.
	var visit func(id string) bool
	visit = func(id string) bool {
		if at := slices.Index(path, id); at >= 0 { // the cycle begins and ends with id
			path = append(path[at:], id)
			return true
		}
		if done[id] {
			return false
		}
		path = append(path, id)
		if slices.ContainsFunc(p.wf.edges(id), visit) {
			return true
		}
		path = path[:len(path)-1]
		done[id] = true
		return false
	}
	for _, t := range p.wf.Tasks {
		if visit(t.ID) {
			p.failLine(t.line, "remove one of these needs", "the needs form a cycle: %s", strings.Join(path, " -> "))
			p.settle()
			return
		}
	}
}

// before returns the ids of all tasks and loops that must be done before the task with the given id starts. For the id
// of a loop, it returns the ids of all tasks and loops that must be done before the loop ends, including the loop's own
// tasks.
func (w *Workflow) before(id string) map[string]bool {
	seen := make(map[string]bool)
	queue := slices.Clone(w.edges(id))
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if seen[next] {
			continue
		}
		seen[next] = true
		queue = append(queue, w.edges(next)...)
	}
	return seen
}

// Spread adds dependents to from, which maps the id of each task to reset to its first iteration to reset. The
// dependents are the tasks that depend on a task in from, directly or through other tasks. A dependent in the same
// loop gets the same iteration, and any other dependent gets 0. If a task gets several iterations, Spread keeps the
// lowest.
func (w *Workflow) Spread(from map[string]int) {
	for changed := true; changed; {
		changed = false
		for _, t := range w.Tasks {
			for _, need := range w.Needs(t) {
				first, ok := from[need]
				if !ok {
					continue
				}
				if u := w.tasks[need]; u.Loop == "" || u.Loop != t.Loop {
					first = 0
				}
				if have, ok := from[t.ID]; !ok || first < have {
					from[t.ID], changed = first, true
				}
			}
		}
	}
}
