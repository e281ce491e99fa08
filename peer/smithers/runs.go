package smithers

import (
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
	"github.com/git-smithers/git-smithers/snapshot"
)

// runOf fills in what the run's row says, but for parent, frame and seq. at is the folder that its paths are in.
func runOf(row smithersdb.Row) (r snapshot.Run, at root) {
	at = rootOf(row)
	r.ID, _ = columnText(row, "run_id")
	r.Workflow, _ = columnText(row, "workflow_name")
	r.WorkflowHash, _ = columnText(row, "workflow_hash")
	if file, ok := columnText(row, "workflow_path"); ok {
		r.WorkflowPath = at.relative(file)
	}
	status, _ := columnText(row, "status")
	r.Status = runStatus(status)
	r.Error = errorText(row)
	r.CreatedAtMs, _ = columnTime(row, "created_at_ms")
	r.StartedAtMs, r.FinishedAtMs = columnNumberOrNil(row, "started_at_ms"), columnNumberOrNil(row, "finished_at_ms")
	if kind, _ := columnText(row, "vcs_type"); kind == snapshot.VCSGit || kind == snapshot.VCSJJ {
		r.VCSType = kind
		if revision, _ := columnText(row, "vcs_revision"); isRevision(revision) {
			r.VCSRevision = revision
		}
	}
	return r, at
}

// runStatus is the status that we have for one of Smithers'.
func runStatus(status string) snapshot.RunStatus {
	switch s := snapshot.RunStatus(status); s {
	case snapshot.RunRunning, snapshot.RunFinished, snapshot.RunFailed, snapshot.RunCancelled, snapshot.RunPending,
		snapshot.RunWaitingApproval, snapshot.RunWaitingHuman, snapshot.RunWaitingEvent, snapshot.RunWaitingTimer:
		return s
	}
	switch {
	case status == "continued":
		return snapshot.RunFinished
	case status == "canceled":
		return snapshot.RunCancelled
	case status == "waiting-quota":
		return snapshot.RunWaitingTimer
	case strings.HasPrefix(status, "waiting"), status == "paused":
		return snapshot.RunWaitingEvent
	}
	return snapshot.RunPending
}

// predictRun gives the row of _smithers_runs.
func (f *facts) predictRun() []smithersdb.Row {
	r := f.Run
	row := smithersdb.Row{
		"workflow_name": textValue(r.Workflow), "workflow_hash": optionalText(r.WorkflowHash), "status": textValue(string(r.Status)),
		"created_at_ms": intValue(r.CreatedAtMs), "started_at_ms": nullableInt(r.StartedAtMs), "finished_at_ms": nullableInt(r.FinishedAtMs),
		"vcs_type": optionalText(r.VCSType), "vcs_revision": optionalText(r.VCSRevision), "workflow_path": markedPath(r.WorkflowPath),
	}
	if r.VCSType != "" {
		row["vcs_root"] = textValue(rootMark)
	}
	if r.Parent != nil {
		row["parent_run_id"] = textValue(r.Parent.RunID)
	}
	if name, message, ok := strings.Cut(r.Error, ": "); ok && utf8.ValidString(r.Error) {
		row["error_json"] = textValue(`{"name":` + quoted(name) + `,"message":` + quoted(message) + `}`)
	}
	return []smithersdb.Row{row}
}

// predictBranch gives the row of _smithers_branches.
func (f *facts) predictBranch() []smithersdb.Row {
	p := f.Run.Parent
	if p == nil {
		return nil
	}
	return []smithersdb.Row{{
		"parent_run_id": textValue(p.RunID), "parent_frame_no": intValue(p.Frame), "created_at_ms": intValue(p.AtMs),
		"branch_label": optionalText(p.Label), "fork_description": optionalText(p.Description),
	}}
}
