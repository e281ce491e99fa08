package workflow

import (
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Loop is a loop of a workflow: its tasks and loops repeat until a condition holds.
type Loop struct {
	ID     string
	Until  string  // the text of the condition that ends the loop
	Max    int     // maximum number of iterations
	Finish bool    // after Max iterations, the loop ends instead of failing the run
	Tasks  []*Task // in file order, without the tasks of the loops in it
	Loops  []*Loop // the loops in it, in file order
	Outer  *Loop   // the loop that contains it; nil at the top level

	line     int // in the file
	until    *Condition
	children []child // in file order
}

// Around returns the loop and the loops around it, the outermost first. It returns nothing for nil.
func (l *Loop) Around() []*Loop {
	var all []*Loop
	for ; l != nil; l = l.Outer {
		all = append(all, l)
	}
	slices.Reverse(all)
	return all
}

// AllTasks returns the tasks of the loop and of the loops in it.
func (l *Loop) AllTasks() []*Task {
	all := slices.Clone(l.Tasks)
	for _, inner := range l.Loops {
		all = append(all, inner.AllTasks()...)
	}
	return all
}

// Condition returns the condition that ends the loop.
func (l *Loop) Condition() *Condition { return l.until }

// NewestLoop returns the id of the row of the loop l for the newest iterations of the loops around it. row returns the row with an id, or the
// zero row.
func (w *Workflow) NewestLoop(l *Loop, row func(id string) snapshot.Loop) string {
	return l.ID + w.newestScope(l, row)
}

// Newest returns the key of the newest node of the task t. row returns the row of a loop by its id, or the zero row.
func (w *Workflow) Newest(t *Task, row func(id string) snapshot.Loop) NodeKey {
	l := w.loops[t.Loop]
	if l == nil {
		return NodeKey{ID: t.ID}
	}
	scope := w.newestScope(l, row)
	return NodeKey{ID: t.ID + scope, Iteration: row(l.ID + scope).Iteration}
}

// newestScope returns the scope of the loop l and its tasks in the newest iterations of the loops around it.
func (w *Workflow) newestScope(l *Loop, row func(id string) snapshot.Loop) string {
	if l.Outer == nil {
		return ""
	}
	scope := w.newestScope(l.Outer, row)
	return snapshot.ScopeWithin(scope, l.Outer.ID, row(l.Outer.ID+scope).Iteration)
}

// FirstLoops returns the loops of a new run.
func (w *Workflow) FirstLoops() []snapshot.Loop {
	loops := make([]snapshot.Loop, len(w.Loops))
	for i, l := range w.Loops {
		loops[i] = snapshot.Loop{RalphID: l.ID + firstScope(l)}
	}
	return loops
}

// firstScope returns the scope of the loop l and its tasks in the first iterations of the loops around it.
func firstScope(l *Loop) string {
	if l == nil || l.Outer == nil {
		return ""
	}
	return snapshot.ScopeWithin(firstScope(l.Outer), l.Outer.ID, 0)
}

// scopeAt returns the scope of the loop l and its tasks in the iterations at of the loops around it, or the first ones.
func scopeAt(l *Loop, at map[*Loop]int) string {
	if l == nil || l.Outer == nil {
		return ""
	}
	return snapshot.ScopeWithin(scopeAt(l.Outer, at), l.Outer.ID, at[l.Outer])
}

// Fits reports whether the workflow has a node with the key: its task, in the loops that the scope and the iteration say.
func (w *Workflow) Fits(key NodeKey) bool {
	t := w.Task(key.ID)
	if t == nil || t.Loop == "" && key.Iteration > 0 {
		return false
	}
	return w.fitsScope(w.loops[t.Loop], key.ID)
}

// FitsLoop reports whether the workflow has a loop with the id, in the loops that the scope says.
func (w *Workflow) FitsLoop(id string) bool {
	l := w.Loop(id)
	return l != nil && w.fitsScope(l, id)
}

// fitsScope reports whether the scope of an id is one of the loop l.
func (w *Workflow) fitsScope(l *Loop, id string) bool {
	_, scope := snapshot.SplitScope(id)
	for inner := "l" + scope; ; {
		outer, _, ok := snapshot.OuterLoop(inner)
		if !ok {
			_, rest := snapshot.SplitScope(inner)
			return rest == "" && (l == nil || l.Outer == nil)
		}
		if l == nil || l.Outer == nil {
			return false
		}
		if l = l.Outer; w.Loop(outer) != l {
			return false
		}
		inner = outer
	}
}
