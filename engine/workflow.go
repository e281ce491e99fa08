package engine

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Workflow is a workflow file that was read and found sound. It is not changed
// after [Parse]; safe for concurrent use.
type Workflow struct {
	Name  string
	Tasks []*Task // in the order of the file, those of loops included
	Loops []*Loop // in the order of the file

	Worktree *Worktree // that tasks share; nil: the one that the run is started in

	definition []byte
	input      *schema            // nil: anything
	outputs    map[string]*schema // by table
	children   []child            // the top level, in the order of the file
	tasks      map[string]*Task
	loops      map[string]*Loop
}

// Task is one task of a workflow. It has one of Run, Approval, WaitFor, Human, Timer.
type Task struct {
	ID       string
	Label    string // "" for none
	Output   string // the table its output goes to; "" for a task without output
	Run      string // the command, for sh -c; "" for a task that waits
	Approval *Approval
	WaitFor  *WaitFor
	Human    *Human
	Timer    *Timer

	Needs   []string      // as written: ids of tasks and loops
	Retries int           // attempts after the first one
	Timeout time.Duration // of one attempt; 0 for none
	When    string        // "" for always
	Env     []string      // "NAME=value", sorted
	Loop    string        // the loop it is part of; "" for none

	Worktree *Worktree // of its own; nil: it shares that of the run

	line   int
	when   *condition
	waits  []string        // the tasks and whole loops that must be done first
	before map[string]bool // all that, transitively; only where there is a condition or a template
}

// Loop is a loop of a workflow: its tasks run again until a condition holds.
type Loop struct {
	ID     string
	Until  string
	Max    int  // how many iterations at most
	Finish bool // reaching Max ends the loop instead of failing the run
	Tasks  []*Task

	line  int
	until *condition
}

// child is a task or a loop at the top level.
type child struct {
	task *Task
	loop *Loop
}

// Snapshot is the definition as a run keeps it: the file's bytes and the output
// schemas in canonical JSON.
func (w *Workflow) Snapshot() *snapshot.Workflow {
	schemas := make(map[string]json.RawMessage, len(w.outputs))
	for table, s := range w.outputs {
		schemas[table] = s.text
	}
	return &snapshot.Workflow{Definition: slices.Clone(w.definition), Schemas: schemas}
}

// ValidateInput checks a run's input, nil for none, against the workflow's
// schema. The error's code is invalid_input and its message names the path.
func (w *Workflow) ValidateInput(input json.RawMessage) error {
	return checkInput(w.input, input)
}

// firstNodes are the nodes of a run's beginning: every task at iteration 0.
func (w *Workflow) firstNodes() []snapshot.Node {
	nodes := make([]snapshot.Node, len(w.Tasks))
	for i, t := range w.Tasks {
		nodes[i] = w.node(t, 0)
	}
	return nodes
}

// node is a task's pending node at an iteration.
func (w *Workflow) node(t *Task, iteration int) snapshot.Node {
	n := snapshot.Node{
		NodeID:      t.ID,
		Iteration:   iteration,
		State:       snapshot.NodePending,
		OutputTable: t.Output,
		Needs:       w.needs(t),
	}
	if t.Label != "" {
		n.Label = &t.Label
	}
	if t.Loop != "" {
		n.RalphID = &t.Loop
	}
	return n
}

// needs are the ids of the nodes that must be done before t, sorted. Waiting for
// a loop is waiting for each of its tasks.
func (w *Workflow) needs(t *Task) []string {
	needs := []string{}
	for _, id := range t.waits {
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

// ownWorktree is the name of the task's own worktree; "" where it has none.
func (t *Task) ownWorktree() string {
	if t.Worktree == nil {
		return ""
	}
	return t.ID
}

// writers are the tasks that write a table, in the order of the file.
func (w *Workflow) writers(table string) []*Task {
	var writers []*Task
	for _, t := range w.Tasks {
		if t.Output == table {
			writers = append(writers, t)
		}
	}
	return writers
}
