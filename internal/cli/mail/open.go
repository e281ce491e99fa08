package mail

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// Open returns the open lines of the inbox for one run. It reads only the tip of the run. engine is the other engine
// that runs the run, or "" if git smithers runs it. now is the current time.
//
// Open leaves out requests that have expired, also those whose deadline has passed at the time now. It leaves out
// settled requests, except those of which Smithers must still be told, and those with which a resume goes on.
func Open(ctx context.Context, store *timeline.Store, head *timeline.Head, engine string, now time.Time) ([]Line, error) {
	all, err := allOf(ctx, store, head, engine, func() time.Time { return now })
	if err != nil {
		return nil, err
	}
	var lines []Line
	for _, line := range all {
		row := line.InboxRow
		due := row.Status == snapshot.HumanPending && row.TimeoutAtMs != nil && *row.TimeoutAtMs <= now.UnixMilli()
		if due && line.Ready {
			line.Status = snapshot.HumanExpired
		}
		if line.Open() && (!due || line.Ready) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// allOf returns a line of the inbox for each approval, human request and wait of a run, open or settled.
func allOf(ctx context.Context, store *timeline.Store, head *timeline.Head, engine string, now func() time.Time) ([]Line, error) {
	rows, err := mailRows(head)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	all := make([]Line, len(rows))
	of := make([]*Line, len(rows))
	for i, row := range rows {
		all[i].InboxRow, of[i] = row, &all[i]
	}
	return all, complete(ctx, store, head, engine, now, of)
}

// mailRows returns a row of the inbox for each approval, human request and wait of a run, open or settled.
func mailRows(head *timeline.Head) (rows []sqliteindex.InboxRow, err error) {
	run, state := head.Row(), head.State()
	add := func(row sqliteindex.InboxRow) {
		row.RunID, row.WorkflowName, row.RunStatus, row.Tip = run.ID, run.Workflow, string(run.Status), head.Entry().ID
		rows = append(rows, row)
	}
	for a, err := range state.AllApprovals() {
		if err != nil {
			return nil, err
		}
		add(sqliteindex.InboxRow{
			NodeID: a.NodeID, Iteration: a.Iteration, Kind: KindApproval, Status: a.Status, Prompt: a.Title, Summary: a.Summary,
			RequestedAtMs: a.RequestedAtMs,
		})
	}
	for h, err := range state.AllHumanRequests() {
		if err != nil {
			return nil, err
		}
		add(sqliteindex.InboxRow{
			NodeID: h.NodeID, Iteration: h.Iteration, Kind: h.Kind, Status: h.Status, RequestID: h.RequestID(run.ID),
			Prompt: h.Prompt, Form: display.OrNull(string(h.Form)), RequestedAtMs: h.RequestedAtMs, TimeoutAtMs: h.TimeoutAtMs,
		})
	}
	for w, err := range state.AllWaits() {
		if err != nil {
			return nil, err
		}
		add(sqliteindex.InboxRow{
			NodeID: w.NodeID, Iteration: w.Iteration, Kind: w.Kind, Status: w.Status, Prompt: w.Signal,
			CorrelationID: w.CorrelationID, RequestedAtMs: w.StartedAtMs, TimeoutAtMs: w.DueAtMs,
		})
	}
	return rows, nil
}
