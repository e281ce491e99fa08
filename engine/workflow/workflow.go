package workflow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/engine/schema"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Workflow is a parsed and checked workflow file. It is immutable after [Parse] and safe for
// concurrent use.
type Workflow struct {
	Name  string
	Tasks []*Task // in file order, including the tasks of loops
	Loops []*Loop // in file order

	Worktree *Worktree // that tasks share; nil means the working copy that the run starts in

	definition []byte
	input      *schema.Schema            // nil accepts anything
	outputs    map[string]*schema.Schema // by table
	children   []child                   // the top level, in file order
	tasks      map[string]*Task
	loops      map[string]*Loop
}

// Task is one task of a workflow. Exactly one of Run, Approval, WaitFor, Human and Timer is set.
type Task struct {
	ID       string
	Label    string // "" if none
	Output   string // the table of its output; "" if it has no output
	Run      string // the command for sh -c; "" if the task waits
	Approval *Approval
	WaitFor  *WaitFor
	Human    *Human
	Timer    *Timer

	Needs   []string      // ids of tasks and loops, as written
	Retries int           // further attempts after the first
	Timeout time.Duration // of one attempt; 0 means none
	When    string        // "" means always
	Env     []string      // "NAME=value", sorted
	Loop    string        // the enclosing loop; "" if none

	Worktree *Worktree // its own worktree; nil means the run's

	line   int
	when   *Condition
	Waits  []string        // the tasks and whole loops to wait for
	Before map[string]bool // the same, transitively; only set if the task has a condition or template
}

// Loop is a loop of a workflow: its tasks repeat until a condition holds.
type Loop struct {
	ID     string
	Until  string
	Max    int  // maximum number of iterations
	Finish bool // at Max the loop ends, instead of failing the run
	Tasks  []*Task

	line  int
	until *Condition
}

// child is a task or a loop at the top level.
type child struct {
	task *Task
	loop *Loop
}

// Snapshot returns the definition as a run stores it: the file's bytes and the output
// schemas as canonical JSON.
func (w *Workflow) Snapshot() *snapshot.Workflow {
	schemas := make(map[string]json.RawMessage, len(w.outputs))
	for table, s := range w.outputs {
		schemas[table] = s.Text
	}
	return &snapshot.Workflow{Definition: slices.Clone(w.definition), Schemas: schemas}
}

// ValidateInput checks a run's input against the workflow's schema. A nil input is the empty object. The error's code is invalid_input and its message names the path.
func (w *Workflow) ValidateInput(input json.RawMessage) error {
	if input == nil {
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
	if err := w.input.Validate("input", value, new(float64(schema.MaxWork))); err != nil {
		return schema.Misfit(err).Hint("--input gives the input; its schema is under input: in the workflow file")
	}
	return nil
}

// Task returns a task; nil if there is none of this id.
func (w *Workflow) Task(id string) *Task { return w.tasks[id] }

// Loop returns a loop; nil if there is none of this id.
func (w *Workflow) Loop(id string) *Loop { return w.loops[id] }

// Schema returns the schema of an output table; nil if there is no such table.
func (w *Workflow) Schema(table string) *schema.Schema { return w.outputs[table] }

// Condition returns the condition of the task; nil means always.
func (t *Task) Condition() *Condition { return t.when }

// Condition returns the condition that ends the loop.
func (l *Loop) Condition() *Condition { return l.until }

// FirstNodes returns the nodes of a new run: every task at iteration 0.
func (w *Workflow) FirstNodes() []snapshot.Node {
	nodes := make([]snapshot.Node, len(w.Tasks))
	for i, t := range w.Tasks {
		nodes[i] = w.Node(t, 0)
	}
	return nodes
}

// Node returns a pending node of a task.
func (w *Workflow) Node(t *Task, iteration int) snapshot.Node {
	n := snapshot.Node{
		NodeID:      t.ID,
		Iteration:   iteration,
		State:       snapshot.NodePending,
		OutputTable: t.Output,
		Needs:       w.Needs(t),
	}
	if t.Label != "" {
		n.Label = &t.Label
	}
	if t.Loop != "" {
		n.RalphID = &t.Loop
	}
	return n
}

// Needs returns the ids of the nodes that must be done before t, sorted. A loop
// stands for each of its tasks.
func (w *Workflow) Needs(t *Task) []string {
	needs := []string{}
	for _, id := range t.Waits {
		loop, ok := w.loops[id]
		if !ok {
			needs = append(needs, id)
			continue
		}
		for _, inner := range loop.Tasks {
			needs = append(needs, inner.ID)
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

// OwnWorktree returns the name of the task's own worktree; "" if it has none.
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

// SignalNames returns the names of the signals that the workflow's tasks wait for, sorted.
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
