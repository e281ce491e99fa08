package app

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/app/group"
	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// sessionWorkflow stands in the definition of a group of courses for what their agents do.
const sessionWorkflow = "name: session\ntasks:\n  - {id: session, approval: The agent goes on with the session.}\n"

// GroupCourses makes a group of courses of a session, which began at the frame from: prompts are their first prompts, and runs their runs. Nothing is
// left to do in the run of the group. The courses are no called runs, because a push of the group would bring their conversations along. id is that of the
// group.
func (d *Desk) GroupCourses(ctx context.Context, id, from string, prompts, runs []string) error {
	plan := workflow.SweepPlan{From: from, Variants: make([]json.RawMessage, len(runs))}
	rows := make([]snapshot.Change, 2*len(runs))
	attempts := make([]snapshot.Change, len(runs))
	at, first := d.Now().UnixMilli(), 1
	var err error
	for i, run := range runs {
		if plan.Variants[i], err = jsontext.Encode(map[string]string{"prompt": prompts[i]}); err != nil {
			return timeline.Explain(err)
		}
		row, err := jsontext.Encode(map[string]string{"runId": run})
		if err != nil {
			return timeline.Explain(err)
		}
		task := workflow.VariantTask(i + 1)
		node := snapshot.Node{NodeID: task, State: snapshot.NodeFinished, LastAttempt: &first, OutputTable: group.CoursesTable}
		rows[2*i] = snapshot.SetRow(snapshot.CollectionNodes, snapshot.EncodeNode(node))
		rows[2*i+1] = snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.OutputCollection(group.CoursesTable), Key: snapshot.Key(task, 0), Value: row}
		attempts[i] = snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(snapshot.Attempt{
			NodeID: task, Attempt: first, State: snapshot.AttemptFinished, StartedAtMs: at, FinishedAtMs: &at,
		}))
	}
	input, err := jsontext.Encode(plan)
	if err != nil {
		return timeline.Explain(err)
	}
	wf, err := workflow.Parse("session.yaml", []byte(sessionWorkflow))
	if err == nil {
		wf, err = workflow.NewSweep(workflow.CoursesName, wf, "session.yaml", len(runs))
	}
	if err != nil {
		return err
	}
	draft, err := engine.Initial(id, wf, input, d.Now())
	if err != nil {
		return err
	}
	draft.Frame.State, draft.Journal = append(draft.Frame.State, rows...), append(draft.Journal, attempts...)
	edit := draft.Run
	draft.Run = func(row *snapshot.Run) {
		edit(row)
		row.Status, row.StartedAtMs, row.FinishedAtMs = snapshot.RunFinished, &at, &at
	}
	_, err = d.Store.Create(ctx, snapshot.Run{ID: id, CreatedAtMs: at}, draft)
	return err
}
