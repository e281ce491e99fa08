package sqliteindex

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	sqlSetCall = `INSERT OR REPLACE INTO _smithers_tool_calls (run_id, node_id, iteration, attempt, seq, call_token, tool_name, input_json,
		output_json, started_at_ms, finished_at_ms, status, error_json, kind, side_effect, idempotent, accepts_idempotency_key, has_revert,
		idempotency_key, revert_status, reverted_at_ms, revert_error_json, forced_past_json, input_at_json, output_at_json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDropCall = `DELETE FROM _smithers_tool_calls WHERE run_id = ? AND node_id = ? AND iteration = ? AND attempt = ? AND seq = ?`
)

// calls writes the new and changed tool calls in d.
func (w *detailWriter) calls(ctx context.Context, d *detail) error {
	return applyDeltas(d.calls, func(c snapshot.ToolCall) error {
		return w.exec(ctx, sqlDropCall, d.runID, c.NodeID, c.Iteration, c.Attempt, c.Seq)
	}, func(c snapshot.ToolCall) error {
		return w.exec(ctx, sqlSetCall, d.runID, c.NodeID, c.Iteration, c.Attempt, c.Seq, nullable(c.CallToken), c.ToolName, jsonText(c.Input),
			jsonText(c.Output), c.StartedAtMs, c.FinishedAtMs, c.Status, jsonText(c.Error), nullable(c.Kind), c.SideEffect, c.Idempotent,
			c.AcceptsIdempotencyKey, c.HasRevert, nullable(c.IdempotencyKey), nullable(c.RevertStatus), c.RevertedAtMs,
			jsonText(c.RevertError), jsonText(c.ForcedPast), rangeText(c.InputAt), rangeText(c.OutputAt))
	})
}

// rangeText returns a range of a transcript as JSON, or nil (NULL) if there is none.
func rangeText(r *snapshot.TranscriptRange) any {
	if r == nil {
		return nil
	}
	text, _ := json.Marshal(r) //nolint:errchkjson // texts and numbers encode always
	return string(text)
}
