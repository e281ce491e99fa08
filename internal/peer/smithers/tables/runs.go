package tables

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ReadRun converts a row of _smithers_runs to a run, without its parent and its numbers of frames and events. root is
// the folder that WorkflowPath is relative to, or "" if the row names no folder: see rootOf.
func ReadRun(row source.Row) (r snapshot.Run, root dbrow.Root) {
	root = rootOf(row)
	r.ID, _ = dbrow.ColumnText(row, "run_id")
	r.Workflow, _ = dbrow.ColumnText(row, "workflow_name")
	r.WorkflowHash, _ = dbrow.ColumnText(row, "workflow_hash")
	if file, ok := dbrow.ColumnText(row, "workflow_path"); ok {
		r.WorkflowPath = root.Relative(file)
	}
	status, _ := dbrow.ColumnText(row, "status")
	r.Status = runStatus(status)
	r.Error = errorText(row)
	r.CreatedAtMs, _ = dbrow.ColumnTime(row, "created_at_ms")
	r.StartedAtMs, r.FinishedAtMs = dbrow.ColumnNumberOrNil(row, "started_at_ms"), dbrow.ColumnNumberOrNil(row, "finished_at_ms")
	if kind, _ := dbrow.ColumnText(row, "vcs_type"); kind == snapshot.VCSGit || kind == snapshot.VCSJJ {
		r.VCSType = kind
		if revision, _ := dbrow.ColumnText(row, "vcs_revision"); IsRevision(revision) {
			r.VCSRevision = revision
		}
	}
	return r, root
}

// runStatus maps Smithers' status of a run to a snapshot.RunStatus. A status that is a RunStatus stays unchanged.
// Smithers' other statuses become the nearest RunStatus. An unknown status that begins with "waiting" becomes waiting
// for an event, and any other unknown status becomes pending.
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

// runRows returns the row of _smithers_runs. The row has an error only if the run's error is UTF-8 of
// the form "name: message".
func (f *Facts) runRows() []source.Row {
	r := f.Run
	row := source.Row{
		"workflow_name": dbrow.Text(r.Workflow), "workflow_hash": dbrow.OptionalText(r.WorkflowHash), "status": dbrow.Text(string(r.Status)),
		"created_at_ms": dbrow.Int(r.CreatedAtMs), "started_at_ms": dbrow.NullableInt(r.StartedAtMs), "finished_at_ms": dbrow.NullableInt(r.FinishedAtMs),
		"vcs_type": dbrow.OptionalText(r.VCSType), "vcs_revision": dbrow.OptionalText(r.VCSRevision),
	}
	if r.WorkflowPath != "" {
		row["workflow_path"] = dbrow.Text(f.Root.Join([]string{"", "/" + r.WorkflowPath}, false))
	}
	if r.VCSType != "" {
		row["vcs_root"] = dbrow.Text(f.Root.Join([]string{"", ""}, false))
	}
	if r.Parent != nil {
		row["parent_run_id"] = dbrow.Text(r.Parent.RunID)
	} else if r.Caller != nil {
		row["parent_run_id"] = dbrow.Text(r.Caller.RunID)
	}
	// errorText made r.Error from a name and a message.
	if name, message, ok := strings.Cut(r.Error, ": "); ok && utf8.ValidString(r.Error) {
		row["error_json"] = dbrow.Text(`{"name":` + jsonobject.Quote(name) + `,"message":` + jsonobject.Quote(message) + `}`)
	}
	return []source.Row{row}
}

// branchRows returns the row of _smithers_branches, or nil if the run has no parent.
func (f *Facts) branchRows() []source.Row {
	p := f.Run.Parent
	if p == nil {
		return nil
	}
	return []source.Row{{
		"parent_run_id": dbrow.Text(p.RunID), "parent_frame_no": dbrow.Int(p.Frame), "created_at_ms": dbrow.Int(p.AtMs),
		"branch_label": dbrow.OptionalText(p.Label), "fork_description": dbrow.OptionalText(p.Description),
	}}
}

// rootOf returns the folder that a run's paths are relative to. It returns the first of these folders that row names:
// the top of the run's repository, the folder in which the run was started, or the folder of the workflow. If row names
// none of these folders, rootOf returns "".
func rootOf(row source.Row) dbrow.Root {
	if at, ok := dbrow.ColumnText(row, "vcs_root"); ok && dbrow.Root(at).Clean() != "" {
		return dbrow.Root(at)
	}
	if config, err := jsonobject.Read(dbrow.ColumnJSON(row, "config_json")); err == nil {
		if at := dbrow.Root(jsonobject.TextOf(config, "rootDir")); at.Clean() != "" {
			return at
		}
	}
	if at, ok := dbrow.ColumnText(row, "workflow_path"); ok && strings.Contains(at, "/") {
		return dbrow.Root(path.Dir(at))
	}
	return ""
}
