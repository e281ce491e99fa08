package engine

import (
	"cmp"

	"github.com/git-smithers/git-smithers/snapshot"
)

// nodeKey identifies a node: a task and an iteration.
type nodeKey struct {
	id        string
	iteration int
}

// name returns the name that people see: the task's id, with the iteration if the task is in a loop.
func (k nodeKey) name(t *Task) string {
	if t == nil || t.Loop == "" { // nil if the task was removed from the workflow
		return k.id
	}
	return snapshot.Key(k.id, k.iteration)
}

func compareKeys(a, b nodeKey) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.iteration, b.iteration))
}
