package workflow

import (
	"encoding/json"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Keys of a task.
var (
	taskKinds   = []string{"run", "workflow", "approval", "wait_for", "human", "timer"}                                                                   // a task has exactly one of these
	commandKeys = []string{"env", "timeout", "worktree", "cache", "files", "scorers", "sandbox", "model", "tools", "shell", "cwd", "fail-fast", "matrix"} // allowed only with run; timeout also with workflow
)

// kind reads the key that gives a task its kind: run, workflow, or one of the waits. It reports a task with several kinds or
// without a kind, and a key that only a command allows in a task that waits.
func (p *parser) kind(n *yaml.Node, t *Task, fields map[string]*yaml.Node) {
	if p.err != nil {
		return
	}
	kind := ""
	for _, key := range taskKinds {
		if fields[key] == nil {
			continue
		}
		if kind != "" {
			p.fail(n, "split the task into two tasks, of which one needs the other", "task %s has both %s and %s", t.ID, kind, key)
			return
		}
		kind = key
	}
	if kind == "" {
		p.lacks(n, "add run, or one of "+strings.Join(taskKinds[1:], ", "), "task %s has nothing to do", t.ID)
		return
	}
	if kind == "run" {
		t.Run = p.text(fields[kind], kind)
		return
	}
	for _, key := range commandKeys {
		if at := fields[key]; at != nil && (kind != "workflow" || key != "timeout") {
			hint := "move " + key + " to a task that runs a command"
			if key == "timeout" && (kind == "wait_for" || kind == "human") {
				hint = "write " + kind + ": {timeout: …}"
			}
			p.fail(at, hint, "task %s has %s, which does not allow %s", t.ID, kind, key)
			return
		}
	}
	if kind == "workflow" {
		t.Call = p.call(fields[kind], t)
		return
	}
	p.wait(kind, fields[kind], t)
}

// wait reads the wait of a task into t. kind is the key that gives the task its kind, such as approval, and n is the
// key's value.
func (p *parser) wait(kind string, n *yaml.Node, t *Task) {
	switch kind {
	case "approval":
		t.Approval = p.approval(n)
	case "wait_for":
		t.WaitFor = p.waitFor(n)
	case "human":
		t.Human = p.human(n, t.ID)
	case "timer":
		t.Timer = p.timer(n)
	}
}

// short reports whether n, the value of a key, is a text instead of a mapping. If n is something else, short records
// a flaw with example in the hint, and returns false. It also returns false after an earlier error. what names the
// key in the message.
func (p *values) short(n *yaml.Node, what, example string) bool {
	if n = p.follow(n); n == nil || n.Kind == yaml.MappingNode {
		return false
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return true
	}
	p.fail(n, "for example "+example, "%s must be text or a mapping, not %s", what, kindName(n))
	return false
}

// approval returns an approval. n is the title as text, or a mapping. Without a title, Title is nil. Without on_deny,
// a denial makes the task fail.
func (p *values) approval(n *yaml.Node) *Approval {
	a := &Approval{OnDeny: OtherwiseFail}
	if p.short(n, "approval", "approval: Ship it?") {
		a.Title = p.template(n, "approval")
		return a
	}
	p.object(n, "approval", keys{
		{"title", func(n *yaml.Node) { a.Title = p.template(n, "title") }},
		{"summary", func(n *yaml.Node) { a.Summary = p.template(n, "summary") }},
		{"on_deny", func(n *yaml.Node) { a.OnDeny = p.otherwise(n, "on_deny") }},
	})
	return a
}

// waitFor returns a wait for a signal. n is the signal's name as text, or a mapping. If n has no correlation, the
// wait accepts any correlation id. If the correlation is null, the wait accepts only a signal without a correlation
// id. If the correlation is a text, the wait accepts only a signal with this id.
func (p *values) waitFor(n *yaml.Node) *WaitFor {
	w := &WaitFor{AnyCorrelation: true, OnTimeout: OtherwiseFail}
	if p.short(n, "wait_for", "wait_for: deployed") {
		w.Signal = p.text(n, "wait_for")
		return w
	}
	at := p.follow(n)
	known := append(keys{
		{"signal", func(n *yaml.Node) { w.Signal = p.text(n, "signal") }},
		{"correlation", func(n *yaml.Node) {
			w.AnyCorrelation = false
			if c := p.follow(n); c != nil && c.ShortTag() != "!!null" {
				w.Correlation = p.template(n, "correlation")
			}
		}},
	}, p.patience(at, "wait_for", &w.Timeout, &w.OnTimeout)...)
	if p.object(n, "wait_for", known) && !hasKey(at, "signal") {
		p.lacks(at, "", "wait_for has no signal")
	}
	return w
}

// patience has the keys of a wait with a timeout: the timeout, and what happens then. It reports on_timeout without a timeout. n is the
// mapping, and what names the wait in messages.
func (p *values) patience(n *yaml.Node, what string, timeout *time.Duration, then *Otherwise) keys {
	return keys{
		{"timeout", func(n *yaml.Node) { *timeout = p.duration(n, "timeout") }},
		{"on_timeout", func(at *yaml.Node) {
			*then = p.otherwise(at, "on_timeout")
			if !hasKey(n, "timeout") {
				p.fail(n, "add a timeout, for example timeout: 24h", "%s has on_timeout, but no timeout", what)
			}
		}},
	}
}

// otherwise returns the effect of a denial or a timeout. what names the key in messages.
func (p *values) otherwise(n *yaml.Node, what string) Otherwise {
	return Otherwise(p.choice(n, what, string(OtherwiseFail), string(OtherwiseContinue), string(OtherwiseSkip)))
}

// human returns a human request. n is the prompt as text, or a mapping. task is the id of the task.
func (p *parser) human(n *yaml.Node, task string) *Human {
	h := &Human{OnTimeout: OtherwiseFail}
	if p.short(n, "human", "human: What now?") {
		h.Prompt = p.template(n, "human")
		return h
	}
	at := p.follow(n)
	known := append(keys{
		{"prompt", func(n *yaml.Node) { h.Prompt = p.template(n, "prompt") }},
		{"form", func(n *yaml.Node) {
			if s := p.schema(n, "form of task "+task); s != nil {
				h.Form = s.Written
			}
		}},
	}, p.patience(at, "human", &h.Timeout, &h.OnTimeout)...)
	if p.object(n, "human", known) && !hasKey(at, "prompt") {
		p.fail(at, "for example human: {prompt: What now?}", "human of task %s has no prompt", task)
	}
	return h
}

// finishForms sets the kind of every human request. If a request has no form and its task has an output, finishForms
// first gives the request the schema of the output as its form.
func (c *checker) finishForms() {
	for _, t := range c.wf.Tasks {
		if t.Human == nil {
			continue
		}
		if table := c.wf.outputs[t.Output]; t.Human.Form == nil && table != nil {
			t.Human.Form = table.Written
		}
		t.Human.Kind = formKind(t.Human.Form)
	}
}

// formKind returns the kind of a human request by the form of its answer:
//   - ask for a nil form, which means any text;
//   - select for a form with an enum;
//   - ask for a string, and confirm for a boolean;
//   - json for any other form.
func formKind(form json.RawMessage) string {
	if form == nil {
		return snapshot.HumanAsk
	}
	var s struct {
		Type any              `json:"type"`
		Enum *json.RawMessage `json:"enum"`
	}
	switch err := json.Unmarshal(form, &s); {
	case err != nil:
		return snapshot.HumanJSON
	case s.Enum != nil:
		return snapshot.HumanSelect
	case s.Type == "string":
		return snapshot.HumanAsk
	case s.Type == "boolean":
		return snapshot.HumanConfirm
	}
	return snapshot.HumanJSON
}

// timer returns a timer. n is a positive duration, or a time with its zone in RFC 3339, from 1970 on. timer reports
// any other text as a flaw and returns nil.
func (p *values) timer(n *yaml.Node) *Timer {
	text := p.text(n, "timer")
	if p.err != nil {
		return nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return &Timer{After: d}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.UnixMilli() >= 0 {
		return &Timer{Until: at}
	}
	p.fail(n, "for example timer: 10m, or timer: 2026-12-01T09:00:00Z", "timer is neither a duration nor a time with its zone: %q", text)
	return nil
}

// template returns a text with compiled placeholders. It reports an invalid text as a flaw and returns nil. what
// names the text in messages.
func (p *values) template(n *yaml.Node, what string) *Template {
	text := p.text(n, what)
	if p.err != nil {
		return nil
	}
	t, err := compileTemplate(text)
	if err != nil {
		p.fail(n, "", "%s: %s", what, err)
		return nil
	}
	t.line = n.Line
	return t
}

// checkTemplates checks the outputs that the placeholders of every task read. It reports the flaws of each template
// and continues with the next template. It also sets Before of each task with a template.
func (c *checker) checkTemplates() {
	for _, t := range c.wf.Tasks {
		all, where := t.Templates()
		for i, tpl := range all {
			c.part(func() {
				for _, ref := range tpl.Refs {
					c.checkRef(tpl.line, where[i]+" of task "+t.ID, &ref, c.readable(t))
				}
			})
		}
	}
}
