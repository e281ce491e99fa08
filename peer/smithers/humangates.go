package smithers

import (
	"strconv"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/snapshot"
)

// predictHumanGates gives those rows of _smithers_approvals that Smithers has for tasks that people do: the gate
// is open when the request is answered.
func (f *facts) predictHumanGates() []smithersdb.Row {
	if len(f.Whole.HumanRequests) == 0 {
		return nil
	}
	tasks, approvals := f.tasks(), make(map[string]bool)
	for _, a := range f.Whole.Approvals {
		approvals[snapshot.Key(a.NodeID, a.Iteration)] = true
	}
	var rows []smithersdb.Row
	for _, h := range f.Whole.HumanRequests {
		task := tasks[h.NodeID]
		if task == nil || task.Props["needsApproval"] != "true" || approvals[snapshot.Key(h.NodeID, h.Iteration)] || f.ofParent(h.RequestedAtMs) {
			continue
		}
		row := smithersdb.Row{
			"node_id": textValue(h.NodeID), "iteration": intValue(int64(h.Iteration)),
			"request_json": textValue(task.gateRequest(h)), "auto_approved": intValue(0),
		}
		switch h.Status {
		case snapshot.HumanAnswered:
			row["status"], row["note"] = textValue(snapshot.ApprovalApproved), textValue(string(h.Response))
		case snapshot.HumanCancelled:
			row["status"] = textValue(snapshot.ApprovalDenied)
			row["note"] = textValue("Human request cancelled: " + h.RequestID(f.Run.ID))
		default:
			row["status"], row["requested_at_ms"] = textValue(snapshot.ApprovalRequested), intValue(h.RequestedAtMs)
			rows = append(rows, row)
			continue
		}
		row["decided_at_ms"], row["decided_by"] = nullableInt(h.AnsweredAtMs), nullableText(h.AnsweredBy)
		rows = append(rows, row)
	}
	return rows
}

// gateRequest is the request_json of the gate of a task that a person does.
func (e *element) gateRequest(h snapshot.HumanRequest) string {
	tries := 1
	if n, err := strconv.Atoi(e.Props["retries"]); err == nil {
		tries += n
	}
	async := strconv.FormatBool(e.Props["waitAsync"] == "true")
	return `{"mode":` + e.text("approvalMode") + `,"waitAsync":` + async + `,"title":` + e.text("label") +
		`,"summary":null,"metadata":{"humanTask":true,"maxAttempts":` + strconv.Itoa(tries) + `,"prompt":` + quoted(h.Prompt) +
		`},"options":[],"allowedScopes":[],"allowedUsers":[],"autoApprove":null}`
}
