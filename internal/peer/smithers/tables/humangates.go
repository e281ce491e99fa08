package tables

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

// humanGateRows returns the rows of _smithers_approvals that are the gates of human tasks. If a human
// task needs an approval, Smithers has such a gate in addition to the human request. The gate has the status of the
// request: an answer approves the gate, and a cancelled request denies the gate.
//
// A request has no gate if its node has an approval in the state.
func (f *Facts) humanGateRows() []source.Row {
	if len(f.Whole.HumanRequests) == 0 {
		return nil
	}
	tasks, approvals := f.tasks(), make(map[string]bool)
	for _, a := range f.Whole.Approvals {
		approvals[snapshot.Key(a.NodeID, a.Iteration)] = true
	}
	var rows []source.Row
	for _, h := range f.Whole.HumanRequests {
		task := tasks[h.NodeID]
		if task == nil || task.Props["needsApproval"] != "true" || approvals[snapshot.Key(h.NodeID, h.Iteration)] {
			continue
		}
		row := source.Row{
			"node_id": dbrow.Text(h.NodeID), "iteration": dbrow.Int(int64(h.Iteration)),
			"request_json": dbrow.Text(gateRequest(task, h)), "auto_approved": dbrow.Int(0),
		}
		switch h.Status {
		case snapshot.HumanAnswered:
			row["status"], row["note"] = dbrow.Text(snapshot.ApprovalApproved), dbrow.Text(string(h.Response))
		case snapshot.HumanCancelled:
			row["status"] = dbrow.Text(snapshot.ApprovalDenied)
			row["note"] = dbrow.Text("Human request cancelled: " + h.RequestID(f.Run.ID))
		default: // the gate of a pending or expired request is undecided
			row["status"], row["requested_at_ms"] = dbrow.Text(snapshot.ApprovalRequested), dbrow.Int(h.RequestedAtMs)
			rows = append(rows, row)
			continue
		}
		row["decided_at_ms"], row["decided_by"] = dbrow.NullableInt(h.AnsweredAtMs), dbrow.NullableText(h.AnsweredBy)
		rows = append(rows, row)
	}
	return rows
}

// gateRequest returns the request_json of the gate of a human task. e is the element of the task, and h is
// its human request. The member maxAttempts is 1 plus the number of the task's retries.
func gateRequest(e *tree.Element, h snapshot.HumanRequest) string {
	tries := 1
	if n, err := strconv.Atoi(e.Props["retries"]); err == nil {
		tries += n
	}
	async := strconv.FormatBool(e.Props["waitAsync"] == "true")
	return `{"mode":` + e.Text("approvalMode") + `,"waitAsync":` + async + `,"title":` + e.Text("label") +
		`,"summary":null,"metadata":{"humanTask":true,"maxAttempts":` + strconv.Itoa(tries) + `,"prompt":` + jsonobject.Quote(h.Prompt) +
		`},"options":[],"allowedScopes":[],"allowedUsers":[],"autoApprove":null}`
}

// tasks returns the elements of the newest rendered tree, by their ids. Without a frame, the result is empty.
func (f *Facts) tasks() map[string]*tree.Element {
	if len(f.Frames) == 0 {
		return map[string]*tree.Element{}
	}
	return tree.Parse(f.Frames[len(f.Frames)-1].Tree).ByID()
}
