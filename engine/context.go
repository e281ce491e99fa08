package engine

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/engine/schema"
	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// value returns a task's output at its newest completed iteration, up to limit. It returns nil if
// the node was skipped or has no output.
func (r *runner) value(t *workflow.Task, limit int) (json.RawMessage, error) {
	if t.Output == "" {
		return nil, nil
	}
	for i := min(limit, r.iteration(t)); i >= 0; i-- {
		switch r.nodes[workflow.NodeKey{ID: t.ID, Iteration: i}].State {
		case snapshot.NodeSkipped:
			return nil, nil
		case snapshot.NodeFinished:
			value, ok, err := r.rec.State().Outputs(t.Output).Get(snapshot.Key(t.ID, i))
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
func (r *runner) contextOf(t *workflow.Task, key workflow.NodeKey, number int, previous *string) ([]byte, error) {
	c := taskContext{
		Run: r.runID, Node: t.ID, Iteration: key.Iteration, Attempt: number, Loop: t.Loop,
		PreviousError: previous, Input: r.input,
		Outputs: make(map[string]json.RawMessage), Needs: make(map[string]json.RawMessage),
	}
	writers := make(map[string]int)
	for _, id := range r.wf.Needs(t) {
		need := r.wf.Task(id)
		if need.Output == "" {
			continue
		}
		value, err := r.value(need, r.iteration(need))
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
		for _, sibling := range r.wf.Loop(t.Loop).Tasks {
			if sibling.Output == "" {
				continue
			}
			value, err := r.value(sibling, key.Iteration-1)
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
func (r *runner) readRefs(refs []workflow.OutputRef, of *workflow.Task, iteration int) (map[workflow.OutputRef]any, error) {
	outputs := make(map[workflow.OutputRef]any, len(refs))
	for _, ref := range refs {
		writer := r.wf.Writers(ref.Table)[0]
		if ref.Node != "" {
			writer = r.wf.Task(ref.Node)
		}
		limit := r.iteration(writer)
		if of != nil && of.Loop != "" && writer.Loop == of.Loop && !of.Before[writer.ID] {
			limit = iteration - 1
		}
		text, err := r.value(writer, limit)
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
func (r *runner) eval(c *workflow.Condition, outputs map[workflow.OutputRef]any, inLoop bool, iteration int) (holds bool, trouble string) {
	input, err := r.members()
	if err != nil {
		return false, err.Error()
	}
	if holds, err = c.Eval(input, outputs, inLoop, iteration); err != nil {
		return false, err.Error()
	}
	return holds, ""
}

// members returns the run's input for expressions; without an input, every member is null.
func (r *runner) members() (map[string]any, error) {
	if r.input == nil {
		return nil, nil
	}
	_, value, err := schema.DecodeValue(r.input)
	if err != nil {
		return nil, err
	}
	members, _ := value.(map[string]any)
	return members, nil
}
