package sqliteindex

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	sqlSetApproval = `INSERT OR REPLACE INTO _smithers_approvals (run_id, node_id, iteration, status, requested_at_ms,
		decided_at_ms, note, decided_by, attempt, title, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDropApproval = `DELETE FROM _smithers_approvals WHERE run_id = ? AND node_id = ? AND iteration = ?`

	sqlSetHuman = `INSERT OR REPLACE INTO _smithers_human_requests (request_id, run_id, node_id, iteration, kind, status,
		prompt, schema_json, options_json, response_json, requested_at_ms, answered_at_ms, answered_by,
		timeout_at_ms, attempt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDropHuman = `DELETE FROM _smithers_human_requests WHERE run_id = ? AND node_id = ? AND iteration = ?`

	sqlSetSignal = `INSERT OR REPLACE INTO _smithers_signals (run_id, seq, signal_name, correlation_id, payload_json,
		received_at_ms, received_by) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sqlDropSignal = `DELETE FROM _smithers_signals WHERE run_id = ? AND seq = ?`

	sqlSetWait = `INSERT OR REPLACE INTO _smithers_waits (run_id, node_id, iteration, attempt, kind, status, signal_name,
		correlation_id, any_correlation, started_at_ms, due_at_ms, ended_at_ms, signal_seq)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDropWait = `DELETE FROM _smithers_waits WHERE run_id = ? AND node_id = ? AND iteration = ?`
)

// approvals writes the added and changed approvals in d, and deletes the rows of removed approvals.
func (w *detailWriter) approvals(ctx context.Context, d *detail) error {
	return applyDeltas(d.approvals, func(a snapshot.Approval) error {
		return w.exec(ctx, sqlDropApproval, d.runID, a.NodeID, a.Iteration)
	}, func(a snapshot.Approval) error {
		return w.exec(ctx, sqlSetApproval, d.runID, a.NodeID, a.Iteration, a.Status, a.RequestedAtMs,
			a.DecidedAtMs, a.Note, a.DecidedBy, a.Attempt, a.Title, nullable(a.Summary))
	})
}

// humanRequests writes the added and changed human requests in d, and deletes the rows of removed human requests.
func (w *detailWriter) humanRequests(ctx context.Context, d *detail) error {
	return applyDeltas(d.humans, func(h snapshot.HumanRequest) error {
		return w.exec(ctx, sqlDropHuman, d.runID, h.NodeID, h.Iteration)
	}, func(h snapshot.HumanRequest) error {
		return w.exec(ctx, sqlSetHuman, h.RequestID(d.runID), d.runID, h.NodeID, h.Iteration, h.Kind, h.Status,
			h.Prompt, jsonText(h.Form), jsonText(options(h)), jsonText(h.Response), h.RequestedAtMs, h.AnsweredAtMs,
			h.AnsweredBy, h.TimeoutAtMs, h.Attempt)
	})
}

// options returns the choices of a human request of kind select, as a JSON array: the member enum of the form. It
// returns nil for other kinds, and if the form is not a JSON object with this member.
func options(h snapshot.HumanRequest) json.RawMessage {
	var form struct {
		Enum json.RawMessage `json:"enum"`
	}
	if h.Kind != snapshot.HumanSelect || json.Unmarshal(h.Form, &form) != nil {
		return nil
	}
	return form.Enum
}

// signals writes the added and changed signals in d, and deletes the rows of removed signals.
func (w *detailWriter) signals(ctx context.Context, d *detail) error {
	return applyDeltas(d.signals, func(s snapshot.Signal) error {
		return w.exec(ctx, sqlDropSignal, d.runID, s.Seq)
	}, func(s snapshot.Signal) error {
		return w.exec(ctx, sqlSetSignal, d.runID, s.Seq, s.Name, s.CorrelationID, string(s.Payload), s.ReceivedAtMs, s.ReceivedBy)
	})
}

// waits writes the added and changed waits in d, and deletes the rows of removed waits.
func (w *detailWriter) waits(ctx context.Context, d *detail) error {
	return applyDeltas(d.waits, func(v snapshot.Wait) error {
		return w.exec(ctx, sqlDropWait, d.runID, v.NodeID, v.Iteration)
	}, func(v snapshot.Wait) error {
		return w.exec(ctx, sqlSetWait, d.runID, v.NodeID, v.Iteration, v.Attempt, v.Kind, v.Status, nullable(v.Signal),
			v.CorrelationID, v.AnyCorrelation, v.StartedAtMs, v.DueAtMs, v.EndedAtMs, v.SignalSeq)
	})
}

// applyDeltas calls drop for each removed row, and then set for each added or changed row. Removals come
// first, because a new row may have the key of a removed row.
func applyDeltas[T any](deltas []rowDelta[T], drop, set func(T) error) error {
	for _, d := range deltas {
		if d.to == nil {
			if err := drop(*d.from); err != nil {
				return err
			}
		}
	}
	for _, d := range deltas {
		if d.to != nil {
			if err := set(*d.to); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonText returns text as a string, or nil (NULL) if text is nil.
func jsonText(text json.RawMessage) any {
	if text == nil {
		return nil
	}
	return string(text)
}
