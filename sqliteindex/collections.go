package sqliteindex

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// collection is a collection of an entry whose rows have a table in the index.
type collection struct {
	table string
	rows  func(*snapshot.Entry) (*page.Collection, error)
	// name is the collection's name in a Change if its rows have the time of the entry that changed them last.
	// Otherwise, it is empty.
	name string
	// values returns the values of a row's columns, in the order of the table.
	values func(d *reader, r page.Row, atMs int64) ([]any, error)
}

// baseCollections returns the collections of the base tables.
func baseCollections() []collection {
	return []collection{
		rowsOf("_index_attempts", (*snapshot.Entry).Attempts, snapshot.DecodeAttempt, attemptValues),
	}
}

// detailCollections returns the collections of the base tables and of the details.
func detailCollections() []collection {
	return append(baseCollections(),
		timedRowsOf("_smithers_nodes", snapshot.CollectionNodes, snapshot.DecodeNode, nodeValues),
		timedRowsOf("_smithers_ralph", snapshot.CollectionLoops, snapshot.DecodeLoop, loopValues),
		rowsOf("_smithers_approvals", inState(snapshot.CollectionApprovals), snapshot.DecodeApproval, approvalValues),
		rowsOf("_smithers_human_requests", inState(snapshot.CollectionHumanRequests), snapshot.DecodeHumanRequest, humanRequestValues),
		rowsOf("_smithers_signals", inState(snapshot.CollectionSignals), snapshot.DecodeSignal, signalValues),
		rowsOf("_smithers_waits", inState(snapshot.CollectionWaits), snapshot.DecodeWait, waitValues),
		rowsOf("_smithers_tool_calls", (*snapshot.Entry).ToolCalls, snapshot.DecodeToolCall, toolCallValues),
		rowsOf("_smithers_scorers", (*snapshot.Entry).Scores, snapshot.DecodeScore, scoreValues),
		collection{table: "_smithers_ops", rows: (*snapshot.Entry).Ops, values: opValues},
		collection{table: "_index_peer_sandboxes", rows: peerSandboxes, values: peerSandboxValues},
	)
}

// rowsOf describes a collection whose rows decode returns.
func rowsOf[T any](
	table string, rows func(*snapshot.Entry) (*page.Collection, error), decode func(page.Row) (T, error), values func(runID string, row T) []any,
) collection {
	return collection{table: table, rows: rows, values: func(d *reader, r page.Row, _ int64) ([]any, error) {
		row, err := decode(r)
		if err != nil {
			return nil, err
		}
		return values(d.run.ID, row), nil
	}}
}

// timedRowsOf describes a collection of the state whose rows have the time of their last change.
func timedRowsOf[T any](table, name string, decode func(page.Row) (T, error), values func(runID string, row T, atMs int64) []any) collection {
	return collection{table: table, name: name, values: func(d *reader, r page.Row, atMs int64) ([]any, error) {
		row, err := decode(r)
		if err != nil {
			return nil, err
		}
		return values(d.run.ID, row, atMs), nil
	}}
}

// inState returns a function that returns the collection of an entry's state with the given name.
func inState(name string) func(*snapshot.Entry) (*page.Collection, error) {
	return func(e *snapshot.Entry) (*page.Collection, error) { return e.Rows(name) }
}

// Smithers' own sandboxes are rows of its data in an entry (docs/smithers.md). Each row is whole, because sandboxes are
// not predicted.
func peerSandboxes(e *snapshot.Entry) (*page.Collection, error) {
	return e.ExtRows("smithers", "tables/_smithers_sandboxes")
}

func peerSandboxValues(d *reader, r page.Row, _ int64) ([]any, error) {
	return []any{d.run.ID, r.Key, string(r.Value)}, nil
}

func attemptValues(runID string, a snapshot.Attempt) []any {
	return []any{
		runID, a.NodeID, a.Iteration, a.Attempt, a.State, a.StartedAtMs, a.FinishedAtMs, nullable(a.Error), a.ExitStatus,
		nullable(a.CommitID), treeID(a.Tree), a.Frame, nullable(a.Worktree), nullable(a.CachedFrom), nullable(a.Sandbox),
	}
}

func nodeValues(runID string, n snapshot.Node, atMs int64) []any {
	// A node without needs has the JSON text [], not null.
	needs, _ := json.Marshal(append([]string{}, n.Needs...)) //nolint:errchkjson // texts encode always
	return []any{
		runID, n.NodeID, n.Iteration, string(n.State), n.LastAttempt, atMs, n.OutputTable, n.Label, n.RalphID, string(needs),
	}
}

func loopValues(runID string, l snapshot.Loop, atMs int64) []any {
	return []any{runID, l.RalphID, l.Iteration, l.Done, atMs}
}

func approvalValues(runID string, a snapshot.Approval) []any {
	return []any{
		runID, a.NodeID, a.Iteration, a.Status, a.RequestedAtMs, a.DecidedAtMs, a.Note, a.DecidedBy, a.Attempt, a.Title, nullable(a.Summary),
	}
}

func humanRequestValues(runID string, h snapshot.HumanRequest) []any {
	return []any{
		h.RequestID(runID), runID, h.NodeID, h.Iteration, h.Kind, h.Status, h.Prompt, jsonText(h.Form), jsonText(options(h)),
		jsonText(h.Response), h.RequestedAtMs, h.AnsweredAtMs, h.AnsweredBy, h.TimeoutAtMs, h.Attempt,
	}
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

func signalValues(runID string, s snapshot.Signal) []any {
	return []any{runID, s.Seq, s.Name, s.CorrelationID, string(s.Payload), s.ReceivedAtMs, s.ReceivedBy}
}

func waitValues(runID string, v snapshot.Wait) []any {
	return []any{
		runID, v.NodeID, v.Iteration, v.Attempt, v.Kind, v.Status, nullable(v.Signal), v.CorrelationID, v.AnyCorrelation, v.StartedAtMs,
		v.DueAtMs, v.EndedAtMs, v.SignalSeq,
	}
}

func toolCallValues(runID string, c snapshot.ToolCall) []any {
	return []any{
		runID, c.NodeID, c.Iteration, c.Attempt, c.Seq, nullable(c.CallToken), c.ToolName, jsonText(c.Input), jsonText(c.Output),
		c.StartedAtMs, c.FinishedAtMs, c.Status, jsonText(c.Error), nullable(c.Kind), c.SideEffect, c.Idempotent,
		c.AcceptsIdempotencyKey, c.HasRevert, nullable(c.IdempotencyKey), nullable(c.RevertStatus), c.RevertedAtMs,
		jsonText(c.RevertError), jsonText(c.ForcedPast), rangeText(c.InputAt), rangeText(c.OutputAt),
	}
}

// rangeText returns a range of a transcript as JSON, or nil (NULL) if there is none.
func rangeText(r *snapshot.TranscriptRange) any {
	if r == nil {
		return nil
	}
	text, _ := json.Marshal(r) //nolint:errchkjson // texts and numbers encode always
	return string(text)
}

func scoreValues(runID string, s snapshot.Score) []any {
	return []any{
		s.ID(runID), runID, s.NodeID, s.Iteration, s.Attempt, s.ScorerID, s.Name(), s.Source, s.Value(), nullable(s.Reason),
		jsonText(s.Meta), jsonText(s.Input), jsonText(s.Output), jsonText(s.GroundTruth), jsonText(s.Context), s.LatencyMs, s.ScoredAtMs,
		s.DurationMs,
	}
}

// opValues returns the values of an op. A column without a value, such as the node of an op on the run, is NULL.
func opValues(d *reader, r page.Row, _ int64) ([]any, error) {
	o, err := snapshot.DecodeOp(r)
	if err != nil {
		return nil, err
	}
	from, err := d.frameAt(o.Before)
	if err != nil {
		return nil, err
	}
	var before, iteration, attempt any
	if !o.Before.IsZero() {
		before = o.Before.String()
	}
	if o.NodeID != "" {
		iteration, attempt = o.Iteration, positive(o.Attempt)
	}
	return []any{
		d.run.ID, o.Number, o.Kind, o.AtMs, from, o.To, o.Frame, nullable(o.NodeID), iteration, attempt, o.NoDeps, o.Files,
		nullable(o.Worktree), positive(o.Undoes), positive(o.UndoneBy), before,
	}, nil
}

// positive returns n, or nil (NULL) if n is 0.
func positive(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// jsonText returns text as a string, or nil (NULL) if text is nil.
func jsonText(text json.RawMessage) any {
	if text == nil {
		return nil
	}
	return string(text)
}
