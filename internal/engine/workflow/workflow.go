package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Workflow is a parsed and checked workflow file. It is immutable after [Parse] and safe for
// concurrent use.
type Workflow struct {
	Name  string
	Tasks []*Task // in file order, including the tasks of loops
	Loops []*Loop // in file order, a loop before the loops in it

	Worktree *Worktree // the worktree that tasks share; nil means the working copy in which the run starts
	Scorers  []*Scorer // of every task with a command, in file order
	// Sandbox is that of the tasks with a command that say nothing about one; nil means none.
	Sandbox *sandbox.Spec

	// Sweep means that the tasks call the variants of a sweep: see NewSweep. Only stored definitions have it.
	Sweep bool

	Doubts []Doubt // about keywords of the schemas in the file

	text       []byte                    // the bytes of the file
	definition []byte                    // the bytes of the file and of the files that it calls
	calls      int                       // see depth
	input      *schema.Schema            // nil accepts any object
	outputs    map[string]*schema.Schema // by table
	children   []child                   // the top level, in file order
	tasks      map[string]*Task          // by id
	loops      map[string]*Loop          // by id
}

// Doubt is a keyword of a schema that JSON Schema does not know: it checks nothing, and may be misspelt.
type Doubt struct {
	Line    int    `json:"line"`    // of the schema in the file
	Schema  string `json:"schema"`  // such as outputs.verdict
	Keyword string `json:"keyword"` // its JSON pointer in the schema
}

// Task is one task of a workflow. Exactly one of Run, Call, Approval, WaitFor, Human and Timer is set.
type Task struct {
	ID       string
	Label    string   // "" if the task has no label
	Output   string   // the table of the task's output; "" if the task has no output
	Run      string   // the command, as written; "" if the task calls a workflow or waits. ShellLine is what runs
	Shell    Shell    // what runs it
	Model    string   // the model that the command is to use; "" if the task names none
	Tools    []string // the tools that the command may use, sorted; nil if the task names none
	Cwd      string   // the folder it runs in, from the top of the working copy, with slashes; "" for the top
	Call     *Call
	Approval *Approval
	WaitFor  *WaitFor
	Human    *Human
	Timer    *Timer

	Needs   []string      // ids of tasks and loops, as written, with all cells in place of a task with a matrix
	Retries int           // number of further attempts after a failed first one
	Backoff Backoff       // how long to rest between these attempts
	Timeout time.Duration // of one attempt's command; 0 means no timeout
	When    string        // the condition's text; "" means that the task always runs
	Env     []string      // "NAME=value", sorted
	Matrix  Cell          // the task's place in its matrix; nil without one
	Allowed bool          // continue-on-error: the run does not fail with the task
	Apart   bool          // fail-fast: false: the other cells of its matrix start although one has failed
	CellOf  string        // the id of the task with the matrix, as written; "" without one
	Loop    string        // the id of the loop that contains the task; "" at the top level

	Worktree *Worktree     // the task's own worktree; nil means the working copy that tasks share
	NoFiles  bool          // files: none: the command changes no files of the working copy that tasks share
	Cache    *Cache        // how results are used again; nil means never
	Sandbox  *sandbox.Spec // what the command may do; nil means all that the user may
	Scorers  []*Scorer     // what gives results a number: its own, then those of the workflow

	line   int             // in the file
	when   *Condition      // nil if When is ""
	Waits  []string        // ids of the tasks and whole loops to wait for
	Before map[string]bool // the same ids, transitively; nil if no condition or placeholder of the task needs them
}

// child is a task or a loop in a list of tasks. The other field is nil.
type child struct {
	task *Task
	loop *Loop
}

// ChangesFiles reports whether files are captured when t ends. The cache compares the files before and after its task, and a task may promise to
// change none only in the working copy that tasks share. A nil t is a task that the workflow no longer has.
func (t *Task) ChangesFiles() bool {
	return t == nil || !t.NoFiles || t.Cache != nil || t.Worktree != nil
}

// Snapshot returns the definition in the form that a run stores: the file's bytes, followed by those of the files that it calls, and the output
// schemas as canonical JSON.
func (w *Workflow) Snapshot() *snapshot.Workflow {
	schemas := make(map[string]json.RawMessage, len(w.outputs))
	for table, s := range w.outputs {
		schemas[table] = s.Text
	}
	return &snapshot.Workflow{Definition: slices.Clone(w.definition), Schemas: schemas}
}

// ValidateInput checks a run's input against the workflow's schema. A nil input means the empty object. If the input
// is not a JSON object, the error's code is invalid_input. Members that the input lacks count as their defaults, and the keyword format is asserted. If the input does not fit the schema, the code is
// invalid_input, too, and the message names the path. If the check may take too long, the code is limit_exceeded.
func (w *Workflow) ValidateInput(input json.RawMessage) error {
	if input = w.FillInput(input); input == nil {
		input = json.RawMessage("{}")
	}
	const hint = `give an object, for example --input '{"ticket":"T-12"}'`
	_, value, err := schema.DecodeValue(input)
	if err != nil {
		return fault.New(fault.InvalidInput, "--input: %w", err).Hint(hint)
	}
	if _, ok := value.(map[string]any); !ok {
		return fault.New(fault.InvalidInput, "--input is not a JSON object").Hint(hint)
	}
	if w.input == nil {
		return nil
	}
	if err := w.input.Check("input", value); err != nil {
		return schema.Misfit(err).Hint("give an --input that fits the schema under input: in the workflow file")
	}
	return nil
}

// Defaults returns the defaults of members of a run's input.
func (w *Workflow) Defaults() []schema.Default {
	if w.input == nil {
		return nil
	}
	return schema.Defaults(w.input.Text)
}

// FillInput returns a run's input with the defaults of the workflow's schema for the members that it lacks. Without a member, a nil input stays nil.
func (w *Workflow) FillInput(input json.RawMessage) json.RawMessage {
	if w.input == nil {
		return input
	}
	given := input
	if given == nil {
		given = json.RawMessage("{}")
	}
	if filled := w.input.Fill(given); input != nil || len(filled) > len(given) {
		return filled
	}
	return nil
}

// Task returns the task with an id, or the task of the node with an id, or nil if the workflow has no such task.
func (w *Workflow) Task(id string) *Task {
	id, _ = snapshot.SplitScope(id)
	return w.tasks[id]
}

// Loop returns the loop with an id, with or without a scope, or nil if the workflow has no such loop.
func (w *Workflow) Loop(id string) *Loop {
	id, _ = snapshot.SplitScope(id)
	return w.loops[id]
}

// Schema returns the schema of an output table, or nil if the workflow has no such table.
func (w *Workflow) Schema(table string) *schema.Schema { return w.outputs[table] }

// OutputMembers returns the output tables with the members that their schemas name, or nil for a table whose schema names none, or leaves them to other
// schemas.
func (w *Workflow) OutputMembers() map[string][]string {
	out := make(map[string][]string, len(w.outputs))
	for table, s := range w.outputs {
		var keys, properties map[string]json.RawMessage
		_ = json.Unmarshal(s.Text, &keys) // a schema can be true or false, too
		_ = json.Unmarshal(keys["properties"], &properties)
		composed := slices.ContainsFunc([]string{"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"}, func(key string) bool { return keys[key] != nil })
		if out[table] = nil; !composed {
			out[table] = slices.Sorted(maps.Keys(properties))
		}
	}
	return out
}

// AfterFailure reports whether the task's condition calls failed or always, so that the task runs although others have failed.
func (t *Task) AfterFailure() bool { return t.when != nil && t.when.afterFailure }

// Told returns the variables that tell the command what the file says of its task. All are set: those of a run around this one are not its own.
func (t *Task) Told() []string {
	return []string{"SMITHERS_MODEL=" + t.Model, "SMITHERS_TOOLS=" + strings.Join(t.Tools, ","), "SMITHERS_OUTPUT_TABLE=" + t.Output}
}

// Given returns the variables that the command gets from the file: its own, and those of Told that are not empty.
func (t *Task) Given() []string {
	return slices.Concat(t.Env, slices.DeleteFunc(t.Told(), func(entry string) bool { return strings.Index(entry, "=") == len(entry)-1 }))
}

// Condition returns the condition of the task, or nil if the task always runs.
func (t *Task) Condition() *Condition { return t.when }

// FirstNodes returns the nodes of a new run: every task at iteration 0.
func (w *Workflow) FirstNodes() []snapshot.Node {
	nodes := make([]snapshot.Node, len(w.Tasks))
	for i, t := range w.Tasks {
		nodes[i] = w.Node(NodeKey{ID: t.ID + firstScope(w.loops[t.Loop])})
	}
	return nodes
}

// Node returns the pending node with a key, without attempts. The workflow must have its task. The node has the task's output table, needs,
// label and loop.
func (w *Workflow) Node(key NodeKey) snapshot.Node {
	t := w.Task(key.ID)
	n := snapshot.Node{
		NodeID:      key.ID,
		Iteration:   key.Iteration,
		State:       snapshot.NodePending,
		OutputTable: t.Output,
		Needs:       w.needsOf(t, key),
	}
	if t.Label != "" {
		n.Label = &t.Label
	}
	if t.Loop != "" {
		_, scope := snapshot.SplitScope(key.ID)
		n.RalphID = new(t.Loop + scope)
	}
	return n
}

// needsOf returns the sorted ids of the nodes that the node with a key needs: see Needs. A task of a loop inside a needed loop has the scope of
// the first iterations of the loops around it.
func (w *Workflow) needsOf(t *Task, key NodeKey) []string {
	needs := w.Needs(t)
	if t.Loop == "" && len(w.Loops) == 0 {
		return needs
	}
	_, scope := snapshot.SplitScope(key.ID)
	at := make(map[*Loop]int) // the iterations of the loops around the node
	loop := t.Loop + scope
	for id, iteration := range snapshot.LoopsAround(&loop, key.Iteration) {
		if l := w.Loop(id); l != nil {
			at[l] = iteration
		}
	}
	for i, id := range needs {
		needs[i] += scopeAt(w.loops[w.tasks[id].Loop], at)
	}
	slices.Sort(needs)
	return needs
}

// Needs returns the sorted ids of the tasks that must be done before t. If t waits for a loop, Needs returns each
// task of the loop.
func (w *Workflow) Needs(t *Task) []string {
	needs := []string{}
	for _, id := range t.Waits {
		loop, ok := w.loops[id]
		if !ok {
			needs = append(needs, id)
			continue
		}
		for _, inner := range loop.AllTasks() {
			needs = append(needs, inner.ID)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// OwnWorktree returns the name of the task's own worktree, which is the task's id, or "" if the task has no
// worktree of its own.
func (t *Task) OwnWorktree() string {
	if t.Worktree == nil {
		return ""
	}
	return t.ID
}

// Writers returns the tasks that write a table, in file order.
func (w *Workflow) Writers(table string) []*Task {
	var writers []*Task
	for _, t := range w.Tasks {
		if t.Output == table {
			writers = append(writers, t)
		}
	}
	return writers
}

// SignalNames returns the names of the signals that the workflow's tasks wait for, sorted and each name once.
func (w *Workflow) SignalNames() []string {
	var names []string
	for _, t := range w.Tasks {
		if t.WaitFor != nil {
			names = append(names, t.WaitFor.Signal)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
