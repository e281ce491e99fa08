package engine

import (
	"encoding/json"
	"math"

	"github.com/git-smithers/git-smithers/internal/engine/schema"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// dataReader reads the parts of a run that tasks and expressions use: the run's input and outputs.
type dataReader struct {
	*model

	rec   Recorder
	wf    *workflow.Workflow
	runID string
	input json.RawMessage // nil if the run has no input
	// unknown has the nodes whose outputs a plan cannot know; nil for a run.
	unknown map[workflow.NodeKey]bool
}

// value returns the output of a task at its newest finished iteration, among the iterations from 0 to limit, in the newest iterations of the loops
// around its loop. limit may be greater than the current iteration. value returns nil in these cases:
//   - The task has no output table.
//   - None of these iterations is finished.
//   - A later one of these iterations is skipped.
//   - The state lacks the output.
//
// The value has its secrets. Code: secret_missing if this clone does not have one of them.
func (d *dataReader) value(t *workflow.Task, limit int) (json.RawMessage, error) {
	if t.Output == "" {
		return nil, nil
	}
	newest := d.newest(d.wf, t)
	for i := min(limit, newest.Iteration); i >= 0; i-- {
		key := workflow.NodeKey{ID: newest.ID, Iteration: i}
		if d.unknown[key] {
			return nil, unknownError(key.Name(t))
		}
		switch d.nodes[key].State {
		case snapshot.NodeSkipped:
			return nil, nil
		case snapshot.NodeFinished:
			value, ok, err := d.rec.State().Outputs(t.Output).Get(snapshot.Key(newest.ID, i))
			if err != nil || !ok {
				return nil, timeline.Explain(err)
			}
			return d.rec.Reveal(snapshot.Place{Collection: snapshot.OutputCollection(t.Output), Key: snapshot.Key(newest.ID, i)}, value)
		default: // not done
		}
	}
	return nil, nil
}

// contextOf returns the taskContext that an attempt of t reads on stdin. key is the key of the
// task's node, number is the attempt's number, and previous is the error of the previous attempt, or nil.
//
// Needs has the outputs of the tasks that t needs, by task. Outputs has the same outputs by table. In a loop, after
// the first iteration, Previous has the outputs of the loop's tasks as of the iteration before, by task.
func (d *dataReader) contextOf(t *workflow.Task, key workflow.NodeKey, number int, previous *string) (*taskContext, error) {
	c := &taskContext{
		Run: d.runID, Node: key.ID, Iteration: key.Iteration, Attempt: number, Loop: t.Loop,
		PreviousError: previous, Input: d.input,
		Outputs: make(map[string]json.RawMessage), Needs: make(map[string]json.RawMessage),
	}
	writers := make(map[string]int)
	for _, id := range d.wf.Needs(t) {
		need := d.wf.Task(id)
		if need.Output == "" {
			continue
		}
		value, err := d.value(need, math.MaxInt)
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
	return c, nil
}

// line returns c as a line of JSON.
func (c *taskContext) line() ([]byte, error) {
	text, err := jsontext.Encode(c)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return append(text, '\n'), nil
}

// readRefs returns the decoded outputs to which the references of an expression refer, by reference. The map has no
// entry for a task without an output so far. reader is the task with the expression, or nil for a loop's expression.
// iteration is the current iteration.
//
// The value is the newest output of the referenced task. There is one exception: if the task is in the loop of reader,
// and reader does not wait for it, the value comes from an earlier iteration. The reason is that the task may be
// unfinished in the current iteration.
func (d *dataReader) readRefs(refs []workflow.OutputRef, reader *workflow.Task, iteration int) (map[workflow.OutputRef]any, error) {
	outputs := make(map[workflow.OutputRef]any, len(refs))
	for _, ref := range refs {
		// A reference without a node is valid only if exactly one task writes the table.
		writer := d.wf.Writers(ref.Table)[0]
		if ref.Node != "" {
			writer = d.wf.Task(ref.Node)
		}
		limit := math.MaxInt
		if reader != nil && reader.Loop != "" && writer.Loop == reader.Loop && !reader.Before[writer.ID] {
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

// eval reports whether a condition holds. outputs is the result of readRefs for the condition. If the evaluation
// fails, trouble is the reason and holds is false; otherwise trouble is "". If inLoop is true, the condition may use
// the current iteration.
func (d *dataReader) eval(c *workflow.Condition, outputs map[workflow.OutputRef]any, inLoop bool, iteration int, failed bool) (holds bool, trouble string) {
	input, err := d.members()
	if err != nil {
		return false, err.Error()
	}
	if holds, err = c.Eval(input, outputs, inLoop, iteration, failed); err != nil {
		return false, err.Error()
	}
	return holds, ""
}

// members returns the decoded members of the run's input, or nil if the run has no input or the input is not an
// object. The error says why the input is not valid JSON.
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

// texts returns the texts of a waiting task with filled placeholders. The key of each text is the template from t.
// Only an approval's summary may be empty. If another text is empty, or a text cannot be filled, texts is nil, why is
// the reason and err is nil. If the task has no templates, all results are nil.
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
