package workflow

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// element is one element of a rendered frame, in Smithers' shape.
type element struct {
	Kind     string            `json:"kind"`
	Tag      string            `json:"tag"`
	Props    map[string]string `json:"props"`
	Children []element         `json:"children"`
}

// newElement returns an element without children. tag is the tag without the prefix "smithers:".
func newElement(tag string, props map[string]string) element {
	return element{Kind: "element", Tag: "smithers:" + tag, Props: props, Children: []element{}}
}

// set adds a property to props, unless its value is "".
func set(props map[string]string, name, value string) {
	if value != "" {
		props[name] = value
	}
}

// Render returns the rendered workflow tree as JSON, with the elements that Smithers uses. done reports whether a
// loop, given by its id in the file, has ended in the newest iterations of the loops around it. The tree shows no other state of a run.
func (w *Workflow) Render(done func(loop string) bool) (json.RawMessage, error) {
	props := map[string]string{"name": w.Name}
	renderWorktree(props, w.Worktree)
	root := newElement("workflow", props)
	root.Children = renderChildren(w.children, done)
	return json.Marshal(root)
}

// renderChildren returns the elements of a list of tasks and loops.
func renderChildren(children []child, done func(loop string) bool) []element {
	out := make([]element, 0, len(children))
	for _, c := range children {
		if c.task != nil {
			out = append(out, renderTask(c.task))
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
		ralph.Children = renderChildren(c.loop.children, done)
		out = append(out, ralph)
	}
	return out
}

// renderTask returns the element of a task. The element has the properties that the workflow file sets: the id, the
// output, the label, the needs, the retries, the timeout, the worktree and the properties of the wait.
func renderTask(t *Task) element {
	props := map[string]string{"id": t.ID}
	set(props, "output", t.Output)
	set(props, "label", t.Label)
	set(props, "needs", strings.Join(t.Needs, ","))
	set(props, "model", t.Model)
	set(props, "tools", strings.Join(t.Tools, ","))
	set(props, "matrix", t.Matrix.String())
	if t.Retries > 0 {
		props["retries"] = strconv.Itoa(t.Retries)
	}
	renderBackoff(props, t.Backoff)
	renderPatience(props, t.Timeout, "")
	renderWorktree(props, t.Worktree)
	renderCache(props, t.Cache)
	renderScorers(props, t.Scorers)
	if t.Sandbox != nil {
		set(props, "sandbox", t.Sandbox.String())
	}
	renderCall(props, t.Call)
	return newElement(renderKind(props, t), props)
}

// renderKind returns the tag of the task's kind. If the task waits, renderKind also adds the properties of the wait
// to props, as the workflow file has them, without filled placeholders.
func renderKind(props map[string]string, t *Task) string {
	switch {
	case t.Call != nil:
		return "subflow"
	case t.Approval != nil:
		props["approvalMode"], props["approvalOnDeny"] = ApprovalMode, string(t.Approval.OnDeny)
		renderTemplate(props, "title", t.Approval.Title)
		renderTemplate(props, "summary", t.Approval.Summary)
		return "approval"
	case t.Human != nil:
		props["kind"] = t.Human.Kind
		renderTemplate(props, "prompt", t.Human.Prompt)
		renderPatience(props, t.Human.Timeout, t.Human.OnTimeout)
		return "human-task"
	case t.WaitFor != nil:
		props["event"] = t.WaitFor.Signal
		renderTemplate(props, "correlationId", t.WaitFor.Correlation)
		renderPatience(props, t.WaitFor.Timeout, t.WaitFor.OnTimeout)
		return "wait-for-event"
	case t.Timer != nil && t.Timer.After > 0:
		props["duration"] = t.Timer.After.String()
		return "timer"
	case t.Timer != nil:
		props["until"] = t.Timer.Until.UTC().Format(time.RFC3339)
		return "timer"
	}
	return "task"
}

// renderTemplate adds to props, as the property name, the text of a template with unfilled placeholders. If t is nil,
// it adds nothing.
func renderTemplate(props map[string]string, name string, t *Template) {
	if t != nil {
		props[name] = t.Text
	}
}

// renderPatience adds a timeout, and the effect of the timeout, to props. The parameter then is the effect. It adds
// nothing if timeout is 0, and no effect if then is "".
func renderPatience(props map[string]string, timeout time.Duration, then Otherwise) {
	if timeout > 0 {
		set(props, "timeoutMs", strconv.FormatInt(timeout.Milliseconds(), 10))
		set(props, "onTimeout", string(then))
	}
}

// renderWorktree adds a worktree to props: its path, or "true" if the path is automatic, and its branch and base.
// It adds nothing if w is nil.
func renderWorktree(props map[string]string, w *Worktree) {
	if w != nil {
		set(props, "worktree", cmp.Or(w.Path, "true"))
		set(props, "branch", w.Branch)
		set(props, "base", w.Base)
	}
}

// ApprovalMode is Smithers' word for a yes-or-no approval.
const ApprovalMode = "decision"
