package workflow

import (
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/lazyregexp"
)

// Limits of a workflow file.
const (
	maxIDBytes    = 100    // of an id or a table's name
	maxRetries    = 100    // of a task
	maxIterations = 10_000 // of a loop
	maxNesting    = 16     // of loops in loops, and of workflows in workflows
)

// Parse reads and checks a workflow file. file is the file's name for messages, and data the file's content. If the
// file is flawed, the error is a fault.Error of code invalid_workflow with the file and line of the first flaw. If
// the file has several flaws, DetailFlaws lists all of them. data must also have the files that the file calls, as
// [Workflow.Snapshot] writes them.
func Parse(file string, data []byte) (*Workflow, error) { return Load(file, data, nil) }

// Stored is Parse for a definition that [Workflow.Snapshot] has written, perhaps in a version with other rules, which it keeps.
func Stored(file string, data []byte) (*Workflow, error) { return load(file, data, nil, false) }

// Load is Parse for a file that may call others: read reads those that data does not have. A nil read reads none.
func Load(file string, data []byte, read Read) (*Workflow, error) {
	return load(file, data, read, true)
}

// load does the work of Load and Stored. strict means that commands run under sh -e; a definition can say so itself.
func load(file string, data []byte, read Read, strict bool) (*Workflow, error) {
	own, texts := data, map[string][]byte{}
	if len(data) <= MaxFile {
		own, texts = unbundle(data)
	}
	_, marked := texts[strictName]
	p := newParser(file, &called{read: read, texts: texts, strict: strict || marked, done: make(map[string]*Workflow), chain: []string{path.Base(filepath.ToSlash(file))}, bytes: len(own)})
	p.schemas.Stored = !strict
	return p.parse(own)
}

// newParser returns a parser of a file.
func newParser(file string, c *called) *parser {
	return &parser{
		values: values{reader{file: file, strange: make(map[*yaml.Node]bool)}}, first: file, called: c,
		worktrees: make(map[string]int), sandboxed: make(map[*Task]bool), cells: make(map[string][]string),
		wf: &Workflow{outputs: make(map[string]*schema.Schema), tasks: make(map[string]*Task), loops: make(map[string]*Loop)},
	}
}

// parse parses the text of the file.
func (p *parser) parse(text []byte) (*Workflow, error) {
	p.wf.text = slices.Clone(text)
	top := p.document(text)
	if top != nil && top.Kind != yaml.MappingNode {
		p.fail(top, workflowHint, "the workflow must be a mapping, not %s", kindName(top))
	}
	p.top = top
	known := workflowKeys.names()
	if p.schemas.Stored && len(p.called.chain) == 1 {
		known = append(known, sweepKey)
	}
	_, fields := p.mapping(top, "the workflow", known)
	if p.err == nil {
		p.workflow(top, fields)
	}
	if err := p.flawed(); err != nil {
		return nil, err
	}
	for _, t := range p.wf.Tasks {
		t.Shell.strict = p.called.strict
		t.NoFiles = t.NoFiles || p.wf.Sweep // each variant has files of its own
	}
	p.wf.definition, p.wf.calls = p.wf.bundle(p.wf.text), p.wf.depth()
	return p.wf, nil
}

// values reads the values of keys that need nothing else of the file.
type values struct{ reader }

// parser builds a workflow from the nodes of its file.
type parser struct {
	values
	wf        *Workflow
	first     string  // the name of the first file: another one if a task calls the workflow
	called    *called // shared by the parsers of all files
	schemas   schema.Bounds
	sandboxed map[*Task]bool        // the tasks that say something about a sandbox
	cells     map[string][]string   // the ids of the tasks of a task with a matrix, by its id
	worktrees map[string]int        // the line of each worktree's path and branch, by "path NAME" or "branch NAME"
	env       []string              // of every task with a command
	defaults  map[string]*yaml.Node // of every task with a command: the values of defaultKeys
}

// workflow reads the file from its top mapping. It reads the parts first, and then makes the checks that need all
// parts.
func (p *parser) workflow(top *yaml.Node, fields map[string]*yaml.Node) {
	p.part(func() {
		p.wf.Name = p.required(top, fields, "the workflow", "name")
		p.checkID(fields["name"], "name", p.wf.Name)
	})
	p.key(fields, sweepKey, func(n *yaml.Node) { p.wf.Sweep = p.boolean(n, sweepKey) })
	p.key(fields, "input", func(n *yaml.Node) { p.wf.input = p.schema(n, "input") })
	p.key(fields, "outputs", p.outputs)
	p.key(fields, "worktree", func(n *yaml.Node) { p.wf.Worktree = p.worktree(n, "") })
	p.key(fields, "scorers", func(n *yaml.Node) { p.wf.Scorers = p.scorers(n, "the workflow") })
	p.key(fields, "sandbox", func(n *yaml.Node) { p.wf.Sandbox = p.sandbox(n) })
	p.key(fields, "env", func(n *yaml.Node) { p.env = p.environment(n) })
	p.key(fields, "defaults", func(n *yaml.Node) { _, p.defaults = p.mapping(n, "defaults", defaultKeys) })
	p.part(func() { p.tasks(top, fields) })
	c := &checker{reader: &p.reader, wf: p.wf, cells: p.cells, sandboxed: p.sandboxed}
	for _, check := range []func(){
		c.joinScorers, c.joinSandboxes, c.resolveNeeds, c.findCycle, c.compileConditions, c.finishForms, c.checkTemplates, c.checkCaches, c.checkCalls,
	} {
		if c.err == nil {
			check()
		}
	}
}

// checker makes the checks that need all parts of the file. They run even if a part is flawed.
type checker struct {
	*reader
	wf        *Workflow
	cells     map[string][]string // as those of the parser
	sandboxed map[*Task]bool      // as those of the parser
}

// outputs reads the tables under outputs and the tables' schemas.
func (p *parser) outputs(n *yaml.Node) {
	keys, tables := p.mapping(n, "outputs", nil)
	for _, key := range keys {
		p.part(func() {
			p.wf.outputs[key.Value] = nil // a flawed table is known, too, so that its tasks are not flawed as well
			p.checkTable(key)
			p.wf.outputs[key.Value] = p.schema(tables[key.Value], "outputs."+key.Value)
		})
	}
}

// workflowHint is the hint for a file that is not a workflow.
const workflowHint = "a workflow has at least a name and tasks: begin with \"name: hello\" and \"tasks:\", and list the tasks under \"tasks:\""

// taskHint shows how to add a task.
const taskHint = "add a task under tasks:, such as - {id: greet, run: echo hello}"

// tasks reads the top-level list of tasks and loops. A list without tasks is a flaw.
func (p *parser) tasks(top *yaml.Node, fields map[string]*yaml.Node) {
	if fields["tasks"] == nil {
		p.lacks(top, taskHint, "the workflow has no tasks")
		return
	}
	before := len(p.flaws) // distinguishes a list with only flawed tasks from an empty list
	p.entries(fields["tasks"], nil)
	if p.err == nil && len(p.wf.Tasks) == 0 && len(p.flaws) == before {
		p.fail(fields["tasks"], taskHint, "the workflow has no tasks")
	}
}

// entries reads a list of tasks and loops. It reads every entry, even if another entry has a flaw. loop is the loop
// that contains the list, or nil at the top level.
func (p *parser) entries(n *yaml.Node, loop *Loop) {
	for _, item := range p.list(n, "tasks") {
		p.part(func() { p.entry(p.follow(item), loop) })
	}
}

// entry reads item, a task or a loop in a list of tasks. loop is the loop that contains the list, or nil.
func (p *parser) entry(item *yaml.Node, loop *Loop) {
	switch {
	case p.err != nil:
		return
	case item.Kind == yaml.MappingNode && hasKey(item, "loop"):
		p.loop(item, loop)
	default:
		p.task(item, loop)
	}
}

// hasKey reports whether n, a mapping, has the given key.
func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i < len(n.Content); i += 2 { // keys and values alternate
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// loop reads a loop and its tasks, and adds them to the workflow. If n is not a mapping, or the loop has no valid id
// of its own, loop adds nothing. A loop with any other flaw is added, so that tasks can refer to the loop. outer is the
// loop that contains the loop, or nil.
func (p *parser) loop(n *yaml.Node, outer *Loop) {
	_, fields := p.mapping(n, "a loop", loopKeys.names())
	if p.err != nil {
		return
	}
	loop := &Loop{line: n.Line, ID: p.required(n, fields, "a loop", "loop"), Outer: outer}
	what := "loop " + loop.ID
	p.checkName(fields["loop"], loop.ID)
	if p.err != nil {
		return
	}
	before := len(p.flaws) // distinguishes a list with only flawed tasks from an empty list
	p.part(func() { loop.Until = p.required(n, fields, what, "until") })
	p.part(func() {
		if fields["max"] == nil {
			p.lacks(n, "add the maximum number of iterations, for example max: 5", "%s has no max", what)
			return
		}
		loop.Max = p.integer(fields["max"], "max", 1, maxIterations)
	})
	p.key(fields, "on_max", func(on *yaml.Node) { loop.Finish = p.choice(on, "on_max", "fail", "finish") == "finish" })
	p.wf.loops[loop.ID] = loop
	p.wf.Loops = append(p.wf.Loops, loop)
	p.place(child{loop: loop}, outer)
	if outer != nil {
		outer.Loops = append(outer.Loops, loop)
	}
	if len(loop.Around()) > maxNesting {
		p.fail(n, "move the inner loops into a workflow of their own", "%s is nested deeper than %d loops", what, maxNesting)
		return
	}
	if fields["tasks"] != nil {
		p.part(func() { p.entries(fields["tasks"], loop) })
	}
	if len(loop.children) == 0 && len(p.flaws) == before {
		p.lacks(n, "", "%s has no tasks", what)
	}
}

// place adds a task or a loop to the list that the loop outer contains, or to the list at the top level if outer is nil.
func (p *parser) place(c child, outer *Loop) {
	list := &p.wf.children
	if outer != nil {
		list = &outer.children
	}
	*list = append(*list, c)
}

// task reads a task and adds the task to the workflow. loop is the loop that contains the task, or nil. If n is not a
// mapping, or the task has no valid id of its own, task adds nothing.
func (p *parser) task(n *yaml.Node, loop *Loop) {
	_, fields := p.mapping(n, "a task", taskKeys.names())
	if p.err != nil {
		return
	}
	t := &Task{line: n.Line, ID: p.required(n, fields, "a task", "id")}
	p.checkName(fields["id"], t.ID)
	if p.err != nil {
		return
	}
	p.part(func() { p.kind(n, t, fields) })
	if t.Run != "" {
		t.Env = p.env
		for key, value := range p.defaults {
			if fields[key] == nil {
				fields[key] = value
			}
		}
	}
	p.taskOptions(t, fields)
	var cells []Cell
	p.key(fields, "with", func(n *yaml.Node) { p.with(n, t) })
	p.key(fields, "matrix", func(n *yaml.Node) { cells = p.matrix(n) })
	if cells != nil {
		p.addCells(n, t, cells, loop)
		return
	}
	p.add(t, loop)
}

// add adds a task to the workflow and, unless loop is nil, to its loop.
func (p *parser) add(t *Task, loop *Loop) {
	p.wf.tasks[t.ID] = t
	p.wf.Tasks = append(p.wf.Tasks, t)
	p.place(child{task: t}, loop)
	if loop != nil {
		t.Loop = loop.ID
		loop.Tasks = append(loop.Tasks, t)
	}
}

// taskOptions reads all keys of a task into t except the id and the key that gives the task its kind. It reports an
// output table that is not under outputs.
func (p *parser) taskOptions(t *Task, fields map[string]*yaml.Node) {
	p.key(fields, "output", func(n *yaml.Node) {
		t.Output = p.text(n, "output")
		if _, ok := p.wf.outputs[t.Output]; !ok {
			p.fail(n, suggest(t.Output, slices.Sorted(maps.Keys(p.wf.outputs))),
				"task %s writes to table %q, which is not under outputs", t.ID, t.Output)
		}
	})
	p.key(fields, "needs", func(n *yaml.Node) { t.Needs = p.texts(n, "needs", "a need", "tasks", maxYAMLNodes, nil) })
	p.key(fields, "retries", func(n *yaml.Node) { p.retries(n, t) })
	p.key(fields, "timeout", func(n *yaml.Node) { t.Timeout = p.duration(n, "timeout") })
	p.key(fields, "when", func(n *yaml.Node) { t.When = p.text(n, "when") })
	p.key(fields, "label", func(n *yaml.Node) { t.Label = p.text(n, "label") })
	p.key(fields, "env", func(n *yaml.Node) { t.Env = joinEnv(p.env, p.environment(n)) })
	p.key(fields, "shell", func(n *yaml.Node) { t.Shell = p.shell(n) })
	p.key(fields, "continue-on-error", func(n *yaml.Node) { t.Allowed = p.boolean(n, "continue-on-error") })
	p.key(fields, "fail-fast", func(n *yaml.Node) {
		t.Apart = !p.boolean(n, "fail-fast")
		if fields["matrix"] == nil {
			p.fail(n, "remove it, or give the task a matrix", "task %s has fail-fast, but no matrix", t.ID)
		}
	})
	p.key(fields, "model", func(n *yaml.Node) { t.Model = p.text(n, "model") })
	p.key(fields, "tools", func(n *yaml.Node) {
		t.Tools = p.texts(n, "tools", "a tool", "names", maxYAMLNodes, func(at *yaml.Node, name string) {
			if strings.Contains(name, ",") {
				p.fail(at, "name each tool on its own", "task %s has the tool %q: a name cannot have a comma", t.ID, name)
			}
		})
		slices.Sort(t.Tools)
	})
	p.key(fields, "cwd", func(n *yaml.Node) { t.Cwd = p.cwd(n) })
	p.key(fields, "worktree", func(n *yaml.Node) { t.Worktree = p.worktree(n, t.ID) })
	p.key(fields, "cache", func(n *yaml.Node) { t.Cache = p.cache(n) })
	p.key(fields, "files", func(n *yaml.Node) { t.NoFiles = p.choice(n, "files", "all", "none") == "none" })
	p.key(fields, "scorers", func(n *yaml.Node) { t.Scorers = p.scorers(n, "task "+t.ID) })
	p.key(fields, "sandbox", func(n *yaml.Node) {
		t.Sandbox = p.sandbox(n)
		p.sandboxed[t] = true
	})
}

var envName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// joinEnv returns the sorted variables of before and after. Of a name that both have, after has the value.
func joinEnv(before, after []string) []string {
	out := slices.Clone(after)
	for _, entry := range before {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(after, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, entry)
		}
	}
	slices.Sort(out)
	return out
}

// environment returns environment variables as sorted "NAME=value" texts. For an invalid name, a name that begins with
// SMITHERS_, or a value that is not a scalar, it reports a flaw and returns nil.
func (p *values) environment(n *yaml.Node) []string {
	keys, fields := p.mapping(n, "env", nil)
	var env []string
	for _, key := range keys {
		switch {
		case !envName.MatchString(key.Value):
			p.fail(key, "", "%q is not the name of an environment variable", key.Value)
		case strings.HasPrefix(key.Value, "SMITHERS_"):
			p.fail(key, "choose a name that does not begin with SMITHERS_", "env cannot set %s: git-smithers reserves the names that begin with SMITHERS_", key.Value)
		}
		value := p.follow(fields[key.Value])
		if value == nil {
			return nil
		}
		if value.Kind != yaml.ScalarNode {
			p.fail(value, "", "env.%s must be text, not %s", key.Value, kindName(value))
			return nil
		}
		env = append(env, key.Value+"="+value.Value)
	}
	slices.Sort(env)
	return env
}

// required returns the text of a key that must be present. If the key is missing, required reports a flaw and returns
// "". It also returns "" after an earlier error. what names the mapping n in messages.
func (p *values) required(n *yaml.Node, fields map[string]*yaml.Node, what, key string) string {
	if p.err != nil {
		return ""
	}
	if fields[key] == nil {
		p.lacks(n, "", "%s has no %s", what, key)
		return ""
	}
	return p.text(fields[key], key)
}

var (
	idPattern    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	tablePattern = lazyregexp.New(`^[A-Za-z0-9_-]+$`)
)

// checkID reports a flaw if an id has an invalid character or is too long. what names the id in the message.
func (p *values) checkID(at *yaml.Node, what, id string) {
	if p.err == nil && (len(id) > maxIDBytes || !idPattern.MatchString(id)) {
		p.fail(at, "use at most 100 letters, digits and _ . -, and do not begin with . or -",
			"%s %q has an invalid character or is too long", what, id)
	}
}

// checkName reports a flaw if id is not a valid id, or if another task or loop already has this id. Tasks and loops
// share one set of ids. at is the node of the id.
func (p *parser) checkName(at *yaml.Node, id string) {
	p.checkID(at, "id", id)
	if p.err != nil {
		return
	}
	line := 0
	if t := p.wf.tasks[id]; t != nil {
		line = t.line
	}
	if l := p.wf.loops[id]; l != nil {
		line = l.line
	}
	if ids := p.cells[id]; len(ids) > 0 {
		line = p.wf.tasks[ids[0]].line
	}
	if line > 0 {
		p.fail(at, "give every task and every loop an id of its own", "the id %q is already used in line %d", id, line)
	}
}

// checkTable reports a flaw if key, the name of an output table, has an invalid character or is too long.
func (p *parser) checkTable(key *yaml.Node) {
	if p.err == nil && (len(key.Value) > maxIDBytes || !tablePattern.MatchString(key.Value)) {
		p.fail(key, "use at most 100 letters, digits, _ and -",
			"%q cannot be the name of a table", key.Value)
	}
}

// schema compiles n, a JSON Schema, and adds its cost to p.schemas. If the schema is invalid or its cost exceeds a
// limit, schema reports a flaw and returns nil. what names the schema's place in messages.
func (p *parser) schema(n *yaml.Node, what string) *schema.Schema {
	n = p.follow(n)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.fail(n, "", "%s must be a JSON Schema, a mapping, not %s", what, kindName(n))
		return nil
	}
	value := p.json(n, 0)
	if p.err != nil {
		return nil
	}
	text, err := jsontext.Encode(value)
	if err != nil {
		p.fail(n, "", "%s is not a JSON Schema: %s", what, err)
		return nil
	}
	s, err := schema.Compile(text, &p.schemas)
	if limit, ok := errors.AsType[*schema.LimitError](err); ok {
		p.fail(n, limit.Hint, "%s: %s", what, limit.What)
		return nil
	}
	if err != nil {
		p.fail(n, "", "%s is not a JSON Schema: %s", what, err)
		return nil
	}
	for _, at := range s.Doubts {
		p.wf.Doubts = append(p.wf.Doubts, Doubt{Line: n.Line, Schema: what, Keyword: at})
	}
	return s
}
