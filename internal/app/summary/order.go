package summary

import (
	"encoding/json"
	"strconv"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A Loop is a loop of a run.
type Loop struct {
	snapshot.Loop

	Max int // the largest number of iterations; 0 if it is unknown
}

// Loop returns the loop with the given id, or nil if there is none.
func (sum *Summary) Loop(id string) *Loop {
	for i := range sum.Loops {
		if sum.Loops[i].RalphID == id {
			return &sum.Loops[i]
		}
	}
	return nil
}

// readLoops sets Loops.
func (sum *Summary) readLoops(state *snapshot.State, tree *taskTree) error {
	for l, err := range state.AllLoops() {
		if err != nil {
			return err
		}
		sum.Loops = append(sum.Loops, Loop{l, tree.most[l.RalphID]})
	}
	return nil
}

// An element is an element of a rendered tree, as far as a summary needs it. A text has no children.
type element struct {
	Props struct {
		ID            string `json:"id"`
		MaxIterations string `json:"maxIterations"`
	} `json:"props"`
	Children []element `json:"children"`
}

// readTree returns what the rendered tree of the newest entry says. The result is empty if there is no tree or it cannot be read,
// because the order of the tasks and the bounds of the loops are only a help.
func (sum *Summary) readTree(s *timeline.Store) *taskTree {
	tree := &taskTree{make(map[string]int), make(map[string]int)}
	text, err := s.Rendered(sum.Entry)
	if err != nil {
		s.Warn(err)
		return tree
	}
	var root element
	if json.Unmarshal(text, &root) == nil {
		tree.collect(&root)
	}
	return tree
}

// A taskTree has what a rendered tree says about tasks and loops, by their ids.
type taskTree struct {
	positions map[string]int // the order in the tree
	most      map[string]int // the largest number of iterations of a loop
}

// collect takes in the element and all below it.
func (t *taskTree) collect(e *element) {
	if id := e.Props.ID; id != "" {
		if _, known := t.positions[id]; !known {
			t.positions[id] = len(t.positions)
		}
		if n, err := strconv.Atoi(e.Props.MaxIterations); err == nil && n > 0 {
			t.most[id] = n
		}
	}
	for i := range e.Children {
		t.collect(&e.Children[i])
	}
}
