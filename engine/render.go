package engine

import (
	"encoding/json"
	"strconv"
	"strings"
)

// element is one element of a rendered frame, in Smithers' shape.
type element struct {
	Kind     string            `json:"kind"`
	Tag      string            `json:"tag"`
	Props    map[string]string `json:"props"`
	Children []element         `json:"children"`
}

func newElement(tag string, props map[string]string) element {
	return element{Kind: "element", Tag: "smithers:" + tag, Props: props, Children: []element{}}
}

// render is the rendered workflow tree. done tells of a loop whether it is over;
// nothing else of a run's state shows in the tree.
func (w *Workflow) render(done func(loop string) bool) (json.RawMessage, error) {
	props := map[string]string{"name": w.Name}
	renderWorktree(props, w.Worktree)
	root := newElement("workflow", props)
	for _, c := range w.children {
		if c.task != nil {
			root.Children = append(root.Children, renderTask(c.task))
			continue
		}
		props := map[string]string{
			"id":            c.loop.ID,
			"until":         strconv.FormatBool(done(c.loop.ID)),
			"maxIterations": strconv.Itoa(c.loop.Max),
		}
		if c.loop.Finish {
			props["onMax"] = "finish"
		}
		ralph := newElement("ralph", props)
		for _, t := range c.loop.Tasks {
			ralph.Children = append(ralph.Children, renderTask(t))
		}
		root.Children = append(root.Children, ralph)
	}
	return json.Marshal(root)
}

func renderTask(t *Task) element {
	props := map[string]string{"id": t.ID}
	if t.Output != "" {
		props["output"] = t.Output
	}
	if t.Label != "" {
		props["label"] = t.Label
	}
	if len(t.Needs) > 0 {
		props["needs"] = strings.Join(t.Needs, ",")
	}
	if t.Retries > 0 {
		props["retries"] = strconv.Itoa(t.Retries)
	}
	if t.Timeout > 0 {
		props["timeoutMs"] = strconv.FormatInt(t.Timeout.Milliseconds(), 10)
	}
	renderWorktree(props, t.Worktree)
	return newElement("task", props)
}

// renderWorktree adds the worktree that is asked for: worktree is its path, "true"
// where that is chosen for it.
func renderWorktree(props map[string]string, w *Worktree) {
	if w == nil {
		return
	}
	props["worktree"] = "true"
	if w.Path != "" {
		props["worktree"] = w.Path
	}
	if w.Branch != "" {
		props["branch"] = w.Branch
	}
	if w.Base != "" {
		props["base"] = w.Base
	}
}
