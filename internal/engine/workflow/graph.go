package workflow

import (
	"maps"
	"slices"
	"strings"
)

// resolveNeeds sets Waits of every task from Needs. If a task needs a task of another loop, it waits for the whole
// loop, and for the outermost loop that does not contain it. resolveNeeds reports two kinds of flaws: an unknown need, and a need of the loop that contains the task. It
// reports the flaws of all tasks.
func (c *checker) resolveNeeds() {
	names := slices.AppendSeq(slices.Collect(maps.Keys(c.wf.tasks)), maps.Keys(c.wf.loops))
	names = slices.AppendSeq(names, maps.Keys(c.cells))
	slices.Sort(names)
	for _, t := range c.wf.Tasks {
		t.Needs = c.withCells(t.Needs)
		after := asksForFailure(t.When)
		if after && (t.Loop != "" || !t.Works()) {
			c.part(func() {
				c.failLine(t.line, "give a task with a command outside of loops this condition", "task %s cannot ask whether something failed", t.ID)
			})
		}
		if after && len(t.Needs) == 0 {
			c.waitForAll(t)
		}
		for _, need := range t.Needs {
			target, ok := c.wf.tasks[need]
			switch {
			case !ok && c.wf.loops[need] == nil:
				c.failLine(t.line, suggest(need, names), "task %s needs %q, which is neither a task nor a loop", t.ID, need)
			case !ok && c.contains(c.wf.loops[need], t):
				c.failLine(t.line, "name tasks of the loop instead of the loop itself", "task %s needs loop %s, which contains the task", t.ID, need)
			case ok:
				need = c.outermost(c.wf.loops[target.Loop], t, need)
			default:
				need = c.outermost(c.wf.loops[need].Outer, t, need)
			}
			if c.err != nil { // keep the flaw, and continue with the next need
				c.settle()
				continue
			}
			if !slices.Contains(t.Waits, need) {
				t.Waits = append(t.Waits, need)
			}
		}
	}
}

// waitForAll makes t wait for all tasks and loops that do not ask whether something failed.
func (c *checker) waitForAll(t *Task) {
	for _, other := range c.wf.Tasks {
		if other.Loop == "" && !asksForFailure(other.When) {
			t.Waits = append(t.Waits, other.ID)
		}
	}
	for _, l := range c.wf.Loops {
		if l.Outer == nil {
			t.Waits = append(t.Waits, l.ID)
		}
	}
}

// contains reports whether the task t is in the loop l or in a loop in it.
func (c *checker) contains(l *Loop, t *Task) bool {
	return slices.Contains(c.wf.loops[t.Loop].Around(), l)
}

// outermost returns the id of the outermost of l and the loops around it that does not contain t. If all contain t, it returns need.
func (c *checker) outermost(l *Loop, t *Task, need string) string {
	for _, loop := range l.Around() {
		if !c.contains(loop, t) {
			return loop.ID
		}
	}
	return need
}

// edges returns the ids of the tasks and loops that the task with the given id waits for. For the id of a loop, it
// returns the ids of the loop's tasks and of the loops in it.
func (w *Workflow) edges(id string) []string {
	if t, ok := w.tasks[id]; ok {
		return t.Waits
	}
	var ids []string
	for _, t := range w.loops[id].Tasks {
		ids = append(ids, t.ID)
	}
	for _, l := range w.loops[id].Loops {
		ids = append(ids, l.ID)
	}
	return ids
}

// findCycle reports the first cycle of needs, in the order of the file, as a flaw.
func (c *checker) findCycle() {
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
		if slices.ContainsFunc(c.wf.edges(id), visit) {
			return true
		}
		path = path[:len(path)-1]
		done[id] = true
		return false
	}
	for _, t := range c.wf.Tasks {
		if visit(t.ID) {
			c.failLine(t.line, "remove one of these needs", "the needs form a cycle: %s", strings.Join(path, " -> "))
			c.settle()
			return
		}
	}
}

// Before returns the ids of all tasks and loops that must be done before the task with the given id starts. For the id
// of a loop, it returns the ids of all tasks and loops that must be done before the loop ends, including the loop's own
// tasks.
func (w *Workflow) Before(id string) map[string]bool {
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
