package workflow

import (
	"cmp"

	"github.com/git-smithers/git-smithers/snapshot"
)

// NodeKey identifies a node: a task and an iteration.
type NodeKey struct {
	ID        string
	Iteration int
}

// Name returns the name that people see: the task's id, with the iteration if the task is in a loop.
func (k NodeKey) Name(t *Task) string {
	if t == nil || t.Loop == "" { // nil if the task was removed from the workflow
		return k.ID
	}
	return snapshot.Key(k.ID, k.Iteration)
}

// CompareKeys orders keys by task, then by iteration.
func CompareKeys(a, b NodeKey) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Iteration, b.Iteration))
}
