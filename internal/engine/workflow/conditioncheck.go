package workflow

import (
	"maps"
	"slices"
	"strings"
)

// compileConditions compiles every when and until, and checks the outputs that these conditions read. It reports the
// flaws of each condition and continues with the next condition.
func (c *checker) compileConditions() {
	for _, t := range c.wf.Tasks {
		if t.When == "" {
			continue
		}
		c.part(func() { t.when = c.condition(t.line, "when of task "+t.ID, t.When, t.Loop != "", c.readable(t)) })
	}
	for _, l := range c.wf.Loops {
		if l.Until == "" { // parser.loop reports a missing until
			continue
		}
		c.part(func() { l.until = c.condition(l.line, "until of loop "+l.ID, l.Until, true, c.wf.Before(l.ID)) })
	}
}

// readable returns the ids of the tasks whose outputs the expressions of t may read. These are the tasks that are
// done before t. In a loop, all tasks of the loop are readable, too. The result also has the ids of loops that are
// done before t. readable sets t.Before.
func (c *checker) readable(t *Task) map[string]bool {
	if t.Before == nil {
		t.Before = c.wf.Before(t.ID)
	}
	readable := maps.Clone(t.Before)
	if t.Loop != "" { // a loop's tasks also read the previous iteration
		for _, sibling := range c.wf.loops[t.Loop].Tasks {
			readable[sibling.ID] = true
		}
	}
	return readable
}

// condition compiles a condition and checks the outputs that the condition reads. If the condition is invalid, it
// reports a flaw at line and returns nil. what names the condition in messages. If inLoop is true, the condition may
// use iteration. readable has the ids of the tasks whose outputs the condition may read.
func (c *checker) condition(line int, what, text string, inLoop bool, readable map[string]bool) *Condition {
	if c.err != nil {
		return nil
	}
	compiled, err := compileCondition(text, inLoop)
	if err != nil {
		hint := ""
		switch said := err.Error(); {
		case strings.Contains(said, "unknown name iteration"):
			hint = "use iteration only in a loop"
		case strings.Contains(text, "${{"):
			hint = "write the condition alone, without ${{ and }}"
		case strings.Contains(said, "unknown name failure"):
			hint = "write failed()"
		case strings.Contains(said, "unknown name success"):
			hint = "leave it out: a task runs only if no task has failed"
		}
		c.failLine(line, hint, "%s: %s", what, err)
		return nil
	}
	for i := range compiled.Refs {
		c.checkRef(line, what, &compiled.Refs[i], readable)
	}
	return compiled
}

// checkRef checks ref, an output that an expression reads. what names the expression in messages. checkRef reports
// these flaws, at line:
//   - ref's table is not under outputs.
//   - No task writes the table. In a file with other flaws, checkRef ignores this.
//   - ref names no task, and several tasks write the table.
//   - ref names a task that does not write the table.
//   - readable does not have the task, so the result would depend on which command is faster. In a file with other
//     flaws, checkRef ignores this.
func (c *checker) checkRef(line int, what string, ref *OutputRef, readable map[string]bool) {
	if _, ok := c.wf.outputs[ref.Table]; !ok {
		c.failLine(line, suggest(ref.Table, slices.Sorted(maps.Keys(c.wf.outputs))),
			"%s reads table %q, which is not under outputs", what, ref.Table)
		return
	}
	writers := c.wf.Writers(ref.Table)
	sound := len(c.flaws) == 0 // other flaws may change which task writes the output, and when
	switch {
	case len(writers) == 0 && !sound:
		return
	case len(writers) == 0:
		c.failLine(line, "", "%s reads table %q, which no task writes", what, ref.Table)
		return
	case ref.Node == "" && len(writers) > 1:
		c.failLine(line, "name the task, for example output('"+ref.Table+"', '"+writers[0].ID+"')",
			"%s reads outputs.%s, which tasks %s and %s write", what, ref.Table, writers[0].ID, writers[1].ID)
		return
	}
	writer := writers[0]
	if ref.Node != "" {
		at := slices.IndexFunc(writers, func(t *Task) bool { return t.ID == ref.Node })
		if at < 0 {
			c.failLine(line, "", "%s reads output('%s', '%s'), but the task does not write table %s", what, ref.Table, ref.Node, ref.Table)
			return
		}
		writer = writers[at]
	}
	if !readable[writer.ID] && sound {
		c.failLine(line, "add "+writer.ID+" to the needs", "%s reads the output of task %s without waiting for it", what, writer.ID)
		return
	}
}
