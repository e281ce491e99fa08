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
	root := newElement("workflow", map[string]string{"name": w.Name})
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
	return newElement("task", props)
}
