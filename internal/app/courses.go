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

// NewCourses makes a group for courses of a session that begin at the frame from, one for each prompt. Nothing is left to do in the run of the group:
// the agents go on with the courses. id is "" for a generated id.
func (d *Desk) NewCourses(ctx context.Context, id, from string, prompts []string) (*timeline.Head, error) {
	if id == "" {
		id = workflow.CoursesName + "-" + timeline.NewRunID()
	}
	plan := workflow.SweepPlan{From: from}
	for _, prompt := range prompts {
		variant, err := jsontext.Encode(map[string]string{"prompt": prompt})
		if err != nil {
			return nil, timeline.Explain(err)
		}
		plan.Variants = append(plan.Variants, variant)
	}
	var draft snapshot.Draft
	wf, err := workflow.Parse("session.yaml", []byte(sessionWorkflow))
	if err == nil {
		wf, err = workflow.NewSweep(workflow.CoursesName, wf, "session.yaml", len(prompts))
	}
	var input json.RawMessage
	if err == nil {
		input, err = jsontext.Encode(plan)
	}
	if err == nil {
		draft, err = engine.Initial(id, wf, input, d.Now())
	}
	if err != nil {
		return nil, err
	}
	edit, at := draft.Run, d.Now().UnixMilli()
	draft.Run = func(row *snapshot.Run) {
		edit(row)
		row.Status, row.StartedAtMs, row.FinishedAtMs = snapshot.RunFinished, &at, &at
	}
	return d.Store.Create(ctx, snapshot.Run{ID: id, CreatedAtMs: at}, draft)
}

// AddCourse notes that the run with the given id is the course with a number of the group of head. It is no run that an attempt has called, because a
// push of the group would bring its conversation along.
func (d *Desk) AddCourse(ctx context.Context, head *timeline.Head, number int, run string) error {
	at, first := d.Now().UnixMilli(), 1
	task := workflow.VariantTask(number)
	row, err := jsontext.Encode(map[string]string{"runId": run})
	if err != nil {
		return timeline.Explain(err)
	}
	attempt := snapshot.Attempt{NodeID: task, Attempt: first, State: snapshot.AttemptFinished, StartedAtMs: at, FinishedAtMs: &at}
	node := snapshot.Node{NodeID: task, State: snapshot.NodeFinished, LastAttempt: &first, OutputTable: group.CoursesTable}
	return head.Append(ctx, snapshot.Draft{
		AtMs: at, Subject: "course " + task + ": " + run,
		Frame: &snapshot.FrameDraft{State: []snapshot.Change{
			snapshot.SetRow(snapshot.CollectionNodes, snapshot.EncodeNode(node)),
			{Op: snapshot.OpSet, Collection: snapshot.OutputCollection(group.CoursesTable), Key: snapshot.Key(task, 0), Value: row},
		}},
		Journal: []snapshot.Change{snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt))},
	})
}
