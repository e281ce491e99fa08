package engine

import (
	"iter"
	"maps"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/snapshot/reset"
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
	d := newDraft("", time.Time{})
	fitted := &model{nodes: maps.Clone(m.nodes), loops: maps.Clone(m.loops)}
	fitted.fit(d, req.Workflow)
	reached, err := reset.Reach(fitted.all(), req.Reset, req.NoDeps)
	if err != nil {
		reached = func(snapshot.Node) bool { return false } // the reset itself reports the error
	}
	if err := m.checkOutputs(state, reveal, req.Workflow, func(key workflow.NodeKey) bool { return reached(fitted.nodes[key]) }); err != nil {
		return nil, err
	}
	return d.state, d.err
}

// all yields the nodes of the model.
func (m *model) all() iter.Seq2[snapshot.Node, error] {
	return func(yield func(snapshot.Node, error) bool) {
		for _, n := range m.nodes {
			if !yield(n, nil) {
				return
			}
		}
	}
}

// checkOutputs checks the outputs of finished tasks against the new definition. It skips nodes that the definition does not have and nodes for
// which skip returns true; skip may be nil. If an output does not fit, the error's code is schema_conflict.
func (m *model) checkOutputs(state *snapshot.State, reveal snapshot.Reveal, wf *workflow.Workflow, skip func(workflow.NodeKey) bool) error {
	for _, key := range m.keys() {
		if m.nodes[key].State != snapshot.NodeFinished || !wf.Fits(key) || skip != nil && skip(key) {
			continue
		}
		if err := m.checkOutput(state, reveal, wf, key); err != nil {
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
