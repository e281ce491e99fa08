package tables

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ReadToolCall converts a row of _smithers_tool_calls to a tool call. Of an error, the call has the name and the message, since a stack
// names folders of a machine. ok is false if the row lacks what a call needs, or if a run cannot store the call.
func ReadToolCall(row source.Row) (c snapshot.ToolCall, ok bool) {
	nodeID, hasNode := dbrow.ColumnText(row, "node_id")
	iteration, hasIteration := dbrow.ColumnNumber(row, "iteration")
	attempt, hasAttempt := dbrow.ColumnNumber(row, "attempt")
	seq, hasSeq := dbrow.ColumnNumber(row, "seq")
	started, hasStart := dbrow.ColumnNumber(row, "started_at_ms")
	if !hasNode || !hasIteration || !hasAttempt || !hasSeq || !hasStart {
		return c, false
	}
	text := func(column string) string {
		value, _ := dbrow.ColumnText(row, column)
		return value
	}
	c = snapshot.ToolCall{
		NodeID: nodeID, Iteration: int(iteration), Attempt: int(attempt), Seq: int(seq),
		ToolName: text("tool_name"), Kind: text("kind"), Status: text("status"), CallToken: text("call_token"),
		StartedAtMs: started, FinishedAtMs: dbrow.ColumnNumberOrNil(row, "finished_at_ms"),
		Input: dbrow.ColumnJSON(row, "input_json"), Output: dbrow.ColumnJSON(row, "output_json"), Error: callError(dbrow.ColumnJSON(row, "error_json")),
		SideEffect: boolIn(row, "side_effect"), Idempotent: boolIn(row, "idempotent"), AcceptsIdempotencyKey: boolIn(row, "accepts_idempotency_key"),
		IdempotencyKey: text("idempotency_key"), HasRevert: boolIn(row, "has_revert"), RevertStatus: text("revert_status"),
		RevertedAtMs: dbrow.ColumnNumberOrNil(row, "reverted_at_ms"), RevertError: callError(dbrow.ColumnJSON(row, "revert_error_json")),
		ForcedPast: dbrow.ColumnJSON(row, "forced_past_json"),
	}
	_, err := snapshot.DecodeToolCall(snapshot.EncodeToolCall(c))
	return c, err == nil
}

// ToolCallThen returns a call as it was at the time atMs. The second result is false if it began after atMs.
func ToolCallThen(c snapshot.ToolCall, atMs int64) (snapshot.ToolCall, bool) {
	if ended := c.FinishedAtMs; ended != nil && *ended > atMs {
		c.Status, c.FinishedAtMs, c.Output, c.Error = snapshot.ToolCallIntended, nil, nil, nil
	}
	return c, c.StartedAtMs <= atMs
}

// boolIn returns the truth value in a column, or nil if the column has neither 0 nor 1.
func boolIn(row source.Row, column string) *bool {
	n, ok := dbrow.ColumnNumber(row, column)
	if !ok || n != 0 && n != 1 {
		return nil
	}
	return new(n == 1)
}

// callError returns the name and the message of an error. An error without them stays as it is.
func callError(text json.RawMessage) json.RawMessage {
	members, err := jsonobject.Parse(text)
	if err != nil {
		return text
	}
	name, message := jsonobject.TextOf(members, "name"), jsonobject.TextOf(members, "message")
	if name == "" && message == "" {
		return text
	}
	return json.RawMessage(`{"name":` + jsonobject.Quote(name) + `,"message":` + jsonobject.Quote(message) + `}`)
}

// toolCallRows returns the rows of _smithers_tool_calls for the run's own calls: for a fork, those that began after the
// fork was created. In Smithers, a call that has failed may have had its effect.
func (f *Facts) toolCallRows() []source.Row {
	var rows []source.Row
	for _, c := range f.Calls {
		if f.Run.Parent != nil && c.StartedAtMs < f.Run.CreatedAtMs {
			continue
		}
		status := c.Status
		if status == snapshot.ToolCallFailed {
			status = snapshot.ToolCallUnknown
		}
		rows = append(rows, source.Row{
			"node_id": dbrow.Text(c.NodeID), "iteration": dbrow.Int(int64(c.Iteration)), "attempt": dbrow.Int(int64(c.Attempt)),
			"seq": dbrow.Int(int64(c.Seq)), "call_token": dbrow.Text(f.callToken(c)), "tool_name": dbrow.Text(c.ToolName),
			"input_json": dbrow.OptionalText(string(c.Input)), "output_json": dbrow.OptionalText(string(c.Output)),
			"started_at_ms": dbrow.Int(c.StartedAtMs), "finished_at_ms": dbrow.NullableInt(c.FinishedAtMs), "status": dbrow.Text(status),
			"error_json": dbrow.OptionalText(string(c.Error)), "kind": dbrow.OptionalText(c.Kind), "side_effect": nullableBool(c.SideEffect),
			"idempotent": nullableBool(c.Idempotent), "accepts_idempotency_key": nullableBool(c.AcceptsIdempotencyKey),
			"has_revert": nullableBool(c.HasRevert), "idempotency_key": dbrow.OptionalText(c.IdempotencyKey),
			"revert_status": dbrow.OptionalText(c.RevertStatus), "reverted_at_ms": dbrow.NullableInt(c.RevertedAtMs),
			"revert_error_json": dbrow.OptionalText(string(c.RevertError)), "forced_past_json": dbrow.OptionalText(string(c.ForcedPast)),
		})
	}
	return rows
}

// callToken returns the call_token of a call, which no other call in a database has: the call's own if that is a UUID, as all of
// Smithers' are. Other writers' tokens, such as "1", are unique in an attempt only.
func (f *Facts) callToken(c snapshot.ToolCall) string {
	if plain.IsUUID(c.CallToken) {
		return c.CallToken
	}
	return f.Run.ID + "/" + snapshot.ToolCallKey(c.NodeID, c.Iteration, c.Attempt, c.Seq)
}

// nullableBool returns 0, 1 or NULL.
func nullableBool(b *bool) source.Value {
	if b == nil {
		return source.Value{}
	}
	return dbrow.Bool(*b)
}
