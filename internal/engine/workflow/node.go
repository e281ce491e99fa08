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

// Name returns the name of a node that people see: the task's id, with the iteration if the task is in a loop. t is
// the node's task, or nil if the workflow no longer has the task.
func (k NodeKey) Name(t *Task) string {
	if t == nil || t.Loop == "" {
		return k.ID
	}
	return snapshot.Key(k.ID, k.Iteration)
}

// CompareKeys compares two keys by task id and then by iteration. It returns a negative number if a comes before b, 0
// if the keys are equal, and a positive number otherwise.
func CompareKeys(a, b NodeKey) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Iteration, b.Iteration))
}
