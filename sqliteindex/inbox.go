package sqliteindex

import (
	"context"

	"github.com/git-smithers/git-smithers/objstore"
)

// InboxRow is an approval, human request, signal or timer that a run waits for. Times are Unix milliseconds.
type InboxRow struct {
	RunID, WorkflowName, RunStatus string
	Tip                            objstore.ID // the newest entry of the run that the index knows
	NodeID                         string
	NodeLabel                      *string // nil if the node has no label
	Iteration                      int
	Kind                           string  // "approval", "signal", "timer", or the kind of the human request
	Status                         string  // requested, pending or waiting; other states only with InboxQuery.All or Settled
	RequestID                      string  // the id of a human request; otherwise ""
	Prompt                         string  // a human request's prompt, an approval's title or a signal's name; "" for a timer
	Summary                        string  // an approval's summary; otherwise ""
	Form                           *string // the JSON schema of a human request's answer; nil if the request has no schema
	CorrelationID                  *string // the correlation id of an awaited signal; otherwise nil
	RequestedAtMs                  int64
	TimeoutAtMs                    *int64 // the time at which the wait ends: for a timer, when it fires; nil means no limit
}

// InboxQuery selects the rows of the inbox.
type InboxQuery struct {
	RunID   string // "" means all runs
	Settled bool   // include settled rows
	All     bool   // include settled rows, and the rows of ended and undone runs
}

const (
	sqlInbox = `SELECT r.run_id, r.workflow_name, r.status, r.git_tip, q.node_id, n.label, q.iteration, q.kind, q.status,
			q.request_id, q.prompt, q.summary, q.form, q.correlation_id, q.requested_at_ms, q.timeout_at_ms
		FROM (SELECT run_id, node_id, iteration, 'approval' AS kind, status, '' AS request_id, title AS prompt,
				coalesce(summary, '') AS summary, NULL AS form, NULL AS correlation_id, requested_at_ms, NULL AS timeout_at_ms
			FROM _smithers_approvals
			UNION ALL
			SELECT run_id, node_id, iteration, kind, status, request_id, prompt,
				'', schema_json, NULL, requested_at_ms, timeout_at_ms
			FROM _smithers_human_requests
			UNION ALL
			SELECT run_id, node_id, iteration, kind, status, '', coalesce(signal_name, ''),
				'', NULL, correlation_id, started_at_ms, due_at_ms
			FROM _smithers_waits) AS q
		JOIN _smithers_runs AS r USING (run_id)
		LEFT JOIN _smithers_nodes AS n USING (run_id, node_id, iteration)
		WHERE true`
	sqlInboxOfRun = ` AND run_id = ?`
	sqlInboxOpen  = ` AND q.status IN ('requested', 'pending', 'waiting')`
	sqlInboxGoing = ` AND r.status NOT IN ('finished', 'failed', 'cancelled') AND NOT r.fork_undone`
	sqlInboxOrder = ` ORDER BY q.requested_at_ms, run_id, node_id, iteration, q.kind`
)

// Inbox returns the approvals, human requests, signals and timers that q selects, sorted by request time (oldest
// first), then by run and node. By default, it leaves out settled rows, and the rows of ended or undone runs. With
// q.Settled, it includes settled rows. With q.All, it includes all rows.
func (x *Index) Inbox(ctx context.Context, q InboxQuery) ([]InboxRow, error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return nil, err
	}
	query, args := sqlInbox, []any(nil)
	if q.RunID != "" {
		query, args = query+sqlInboxOfRun, append(args, q.RunID)
	}
	if !q.All {
		query += sqlInboxGoing
	}
	if !q.All && !q.Settled {
		query += sqlInboxOpen
	}
	return list[InboxRow](ctx, d, query+sqlInboxOrder, args...)
}
