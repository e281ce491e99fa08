package engine

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/engine/schema"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// dataReader reads what tasks and expressions see of a run: its input and outputs.
type dataReader struct {
	*model

	rec   Recorder
	wf    *workflow.Workflow
	runID string
	input json.RawMessage // nil if there is none
}

// value returns a task's output at its newest completed iteration, up to limit. It returns nil if
// the node was skipped or has no output.
func (d *dataReader) value(t *workflow.Task, limit int) (json.RawMessage, error) {
	if t.Output == "" {
		return nil, nil
	}
	for i := min(limit, d.iteration(t)); i >= 0; i-- {
		switch d.nodes[workflow.NodeKey{ID: t.ID, Iteration: i}].State {
		case snapshot.NodeSkipped:
			return nil, nil
		case snapshot.NodeFinished:
			value, ok, err := d.rec.State().Outputs(t.Output).Get(snapshot.Key(t.ID, i))
			if err != nil || !ok {
				return nil, timeline.Explain(err)
			}
			return value, nil
		default: // not done
		}
	}
	return nil, nil
}

// contextOf returns the JSON that an attempt reads on stdin.
func (d *dataReader) contextOf(t *workflow.Task, key workflow.NodeKey, number int, previous *string) ([]byte, error) {
	c := taskContext{
		Run: d.runID, Node: t.ID, Iteration: key.Iteration, Attempt: number, Loop: t.Loop,
		PreviousError: previous, Input: d.input,
		Outputs: make(map[string]json.RawMessage), Needs: make(map[string]json.RawMessage),
	}
	writers := make(map[string]int)
	for _, id := range d.wf.Needs(t) {
		need := d.wf.Task(id)
		if need.Output == "" {
			continue
		}
		value, err := d.value(need, d.iteration(need))
		if err != nil {
			return nil, err
		}
		c.Needs[id], c.Outputs[need.Output] = value, value
		writers[need.Output]++
	}
	for table, n := range writers {
		if n > 1 { // several tasks write the table, so its name is ambiguous
			delete(c.Outputs, table)
		}
	}
	if t.Loop != "" && key.Iteration > 0 {
		c.Previous = make(map[string]json.RawMessage)
		for _, sibling := range d.wf.Loop(t.Loop).Tasks {
			if sibling.Output == "" {
				continue
			}
			value, err := d.value(sibling, key.Iteration-1)
			if err != nil {
				return nil, err
			}
			c.Previous[sibling.ID] = value
		}
	}
	text, err := jsontext.Encode(c)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return append(text, '\n'), nil
}

// readRefs reads the outputs that an expression refers to. of is the task whose
// expression it is, nil for a loop. If of is in a loop, a task of the same loop that of does not
// wait for gives its output of the previous iteration, because its current one may be unfinished.
func (d *dataReader) readRefs(refs []workflow.OutputRef, of *workflow.Task, iteration int) (map[workflow.OutputRef]any, error) {
	outputs := make(map[workflow.OutputRef]any, len(refs))
	for _, ref := range refs {
		writer := d.wf.Writers(ref.Table)[0]
		if ref.Node != "" {
			writer = d.wf.Task(ref.Node)
		}
		limit := d.iteration(writer)
		if of != nil && of.Loop != "" && writer.Loop == of.Loop && !of.Before[writer.ID] {
			limit = iteration - 1
		}
		text, err := d.value(writer, limit)
		if err != nil {
			return nil, err
		}
		if text == nil {
			continue
		}
		if _, outputs[ref], err = schema.DecodeValue(text); err != nil {
			return nil, timeline.Explain(err)
		}
	}
	return outputs, nil
}

// eval evaluates a condition. If it has no result, trouble says why.
func (d *dataReader) eval(c *workflow.Condition, outputs map[workflow.OutputRef]any, inLoop bool, iteration int) (holds bool, trouble string) {
	input, err := d.members()
	if err != nil {
		return false, err.Error()
	}
	if holds, err = c.Eval(input, outputs, inLoop, iteration); err != nil {
		return false, err.Error()
	}
	return holds, ""
}

// members returns the run's input for expressions; without an input, every member is null.
func (d *dataReader) members() (map[string]any, error) {
	if d.input == nil {
		return nil, nil
	}
	_, value, err := schema.DecodeValue(d.input)
	if err != nil {
		return nil, err
	}
	members, _ := value.(map[string]any)
	return members, nil
}

// texts returns the task's texts with their placeholders filled, by their templates.
// If a text cannot be filled, why is the reason.
func (d *dataReader) texts(t *workflow.Task, key workflow.NodeKey) (texts map[*workflow.Template]string, why *reason, err error) {
	all, where := t.Templates()
	if len(all) == 0 {
		return nil, nil, nil
	}
	members, err := d.members()
	if err != nil {
		return nil, nil, timeline.Explain(err)
	}
	texts = make(map[*workflow.Template]string, len(all))
	for i, tpl := range all {
		outputs, err := d.readRefs(tpl.Refs, t, key.Iteration)
		if err != nil {
			return nil, nil, err
		}
		text, trouble := tpl.Fill(members, outputs, d.runID, key)
		switch {
		case trouble != "":
			return nil, &reason{reasonTemplate, where[i] + ": " + trouble}, nil
		case text == "" && (t.Approval == nil || tpl != t.Approval.Summary):
			return nil, &reason{reasonTemplate, where[i] + " is empty"}, nil
		}
		texts[tpl] = text
	}
	return texts, nil, nil
}
