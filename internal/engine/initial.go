package engine

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Initial returns frame 0 of a new run: pending tasks, the input and the definition. In the run's row, the draft sets
// only the workflow's name and the status pending. input may be nil. If the input does not fit the workflow's schema,
// the error's code is invalid_input.
func Initial(runID string, wf *workflow.Workflow, input json.RawMessage, at time.Time) (snapshot.Draft, error) {
	if err := wf.ValidateInput(input); err != nil {
		return snapshot.Draft{}, err
	}
	input = wf.FillInput(input)
	d := newDraft(runID, at)
	for _, n := range wf.FirstNodes() {
		d.setNode(n)
		d.event("NodePending", payload{NodeID: n.NodeID, Iteration: &n.Iteration})
	}
	for _, l := range wf.FirstLoops() {
		d.setLoop(l)
	}
	if input != nil {
		d.state = append(d.state, snapshot.Change{Op: snapshot.OpSet, Collection: "input", Value: bytes.TrimSpace(input)})
	}
	d.render(wf, func(string) bool { return false })
	d.workflow = wf.Snapshot()
	d.edit(func(row *snapshot.Run) { row.Workflow, row.Status = wf.Name, snapshot.RunPending })
	d.say(wf.Name, "created")
	return d.snapshot()
}
