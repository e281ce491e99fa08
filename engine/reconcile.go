package engine

import (
	"time"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// ReconcileRequest describes how a run continues with another workflow definition.
type ReconcileRequest struct {
	Workflow *workflow.Workflow
	// Reset lists the nodes that the caller resets afterwards, by id or key. The outputs of these nodes and of
	// their dependents need not fit the new definition.
	Reset  []string
	NoDeps bool // the dependents of Reset are not reset
}

// Reconcile returns the changes that adapt a state to another definition. It drops removed tasks with their
// outputs, adds new tasks as pending, and keeps all other tasks. If a kept output does not fit its new table or
// schema, the error's code is schema_conflict, and the message names the task and the field. whole gives the outputs
// their secrets. Reconcile is
// meant for the function Prepare of a timeline.Fork.
func Reconcile(state *snapshot.State, reveal snapshot.Reveal, req ReconcileRequest) ([]snapshot.Change, error) {
	m, err := loadModel(state)
	if err != nil {
		return nil, err
	}
	if err := m.checkOutputs(state, reveal, req); err != nil {
		return nil, err
	}
	d := newDraft("", time.Time{})
	m.fit(d, req.Workflow)
	return d.state, d.err
}

// checkOutputs checks the outputs of finished tasks against the new definition. It skips removed tasks and nodes
// that req resets. If an output does not fit, the error's code is schema_conflict.
func (m *model) checkOutputs(state *snapshot.State, reveal snapshot.Reveal, req ReconcileRequest) error {
	reset := req.resets()
	for _, key := range m.keys() {
		n, t := m.nodes[key], req.Workflow.Task(key.ID)
		if from, ok := reset[key.ID]; t == nil || n.State != snapshot.NodeFinished || ok && key.Iteration >= from {
			continue
		}
		if err := m.checkOutput(state, reveal, req.Workflow, key); err != nil {
			return err
		}
	}
	return nil
}

// checkOutput checks the table and the output of one finished node against the new definition. The error's code is
// schema_conflict if the table differs, or the output is missing or does not fit the new schema.
func (m *model) checkOutput(state *snapshot.State, reveal snapshot.Reveal, wf *workflow.Workflow, key workflow.NodeKey) error {
	table, now := m.nodes[key].OutputTable, wf.Task(key.ID).Output
	if table != now {
		return conflict(key, table, "task %s is finished with %s, but the new definition requires %s",
			key.ID, describeTable(table), describeTable(now))
	}
	if table == "" {
		return nil
	}
	value, ok, err := state.Outputs(table).Get(snapshot.Key(key.ID, key.Iteration))
	if err != nil {
		return timeline.Explain(err)
	}
	if !ok {
		return conflict(key, table, "task %s is finished, but has no output in table %s", key.ID, table)
	}
	if value, err = reveal(snapshot.Place{Collection: snapshot.OutputCollection(table), Key: snapshot.Key(key.ID, key.Iteration)}, value); err != nil {
		return err
	}
	if _, err := wf.Schema(table).CheckOutput(table, value); err != nil {
		return conflict(key, table, "task %s is finished, but its output does not fit the new schema: %w", key.ID, err)
	}
	return nil
}

// resets returns, by task id, the first iteration to reset of each task that req resets. It includes the dependents
// unless req.NoDeps is set. A name in req.Reset is a task id, or a node's key that also names the iteration. resets
// must find the same nodes as reset.Nodes, which later makes the reset.
func (req ReconcileRequest) resets() map[string]int {
	from := make(map[string]int)
	for _, name := range req.Reset {
		iteration := 0
		if req.Workflow.Task(name) == nil {
			if id, n, err := snapshot.SplitKey(name); err == nil {
				name, iteration = id, n
			}
		}
		if have, ok := from[name]; !ok || iteration < have {
			from[name] = iteration
		}
	}
	if !req.NoDeps {
		req.Workflow.Spread(from)
	}
	return from
}

// conflict returns a schema_conflict error about the output of a node in a table. format and args are the message.
func conflict(key workflow.NodeKey, table, format string, args ...any) error {
	return fault.New(fault.SchemaConflict, format, args...).
		Hint("add `--node %s` to `git smithers replay` to run task %s again", fault.Word(key.ID), key.ID).
		Hint("or keep the old schema of task %s in the workflow file", key.ID).
		Detail("nodeId", key.ID).Detail("iteration", key.Iteration).Detail("table", table)
}

// describeTable returns words for the output of a task that writes a table. "" means that the task has no output.
func describeTable(table string) string {
	if table == "" {
		return "no output"
	}
	return "an output in table " + table
}
