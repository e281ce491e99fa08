package tables

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ReadApproval converts a row of _smithers_approvals to an approval. If the row has no time of the request, the
// approval gets askedAtMs as this time. If a decided row has no time of the decision, the approval gets the time of the
// request as this time. ok is false if the row lacks a node or an iteration, or if a run cannot store the approval.
func ReadApproval(row source.Row, askedAtMs int64) (a snapshot.Approval, ok bool) {
	nodeID, hasNode := dbrow.ColumnText(row, "node_id")
	iteration, hasIteration := dbrow.ColumnNumber(row, "iteration")
	status, _ := dbrow.ColumnText(row, "status")
	if !hasNode || !hasIteration {
		return snapshot.Approval{}, false
	}
	a = snapshot.Approval{NodeID: nodeID, Iteration: int(iteration), Attempt: 1, Status: status, RequestedAtMs: askedAtMs}
	if at, known := dbrow.ColumnNumber(row, "requested_at_ms"); known {
		a.RequestedAtMs = at
	}
	if request, err := jsonobject.Read(dbrow.ColumnJSON(row, "request_json")); err == nil {
		a.Title, a.Summary = jsonobject.TextOf(request, "title"), jsonobject.TextOf(request, "summary")
	}
	if status != snapshot.ApprovalRequested {
		a.DecidedAtMs, a.DecidedBy, a.Note = dbrow.ColumnNumberOrNil(row, "decided_at_ms"), dbrow.ColumnTextOrNil(row, "decided_by"), dbrow.ColumnTextOrNil(row, "note")
		if a.DecidedAtMs == nil {
			a.DecidedAtMs = &a.RequestedAtMs
		}
	}
	if _, err := snapshot.DecodeApproval(snapshot.EncodeApproval(a)); err != nil {
		return snapshot.Approval{}, false
	}
	return a, true
}

// IsHumanGate reports whether a row of _smithers_approvals is the gate of a human task: the member metadata of its
// request has humanTask set to true. The answer to the task's human request decides the gate.
func IsHumanGate(row source.Row) bool {
	request, err := jsonobject.Read(dbrow.ColumnJSON(row, "request_json"))
	if err != nil {
		return false
	}
	for _, m := range request {
		if of, err := jsonobject.Read(m.Value); err == nil && m.Name == "metadata" {
			return slices.ContainsFunc(of, func(m jsonobject.Member) bool { return m.Name == "humanTask" && string(m.Value) == "true" })
		}
	}
	return false
}

// approvalRows returns the rows of _smithers_approvals, with the gates of human tasks. The row of a decided approval does
// not have the time of its request.
func (f *Facts) approvalRows() []source.Row {
	var rows []source.Row
	for _, a := range f.Whole.Approvals {
		row := source.Row{
			"node_id": dbrow.Text(a.NodeID), "iteration": dbrow.Int(int64(a.Iteration)), "status": dbrow.Text(a.Status),
			"decided_at_ms": dbrow.NullableInt(a.DecidedAtMs), "decided_by": dbrow.NullableText(a.DecidedBy), "note": dbrow.NullableText(a.Note),
			"request_json": dbrow.Text(approvalRequest(a)), "auto_approved": dbrow.Int(0),
		}
		if a.Status == snapshot.ApprovalRequested {
			row["requested_at_ms"] = dbrow.Int(a.RequestedAtMs)
		}
		rows = append(rows, row)
	}
	return append(rows, f.humanGateRows()...)
}

// approvalRequest returns the text of the column request_json for the approval a.
// Only the title and the summary differ from approval to approval.
func approvalRequest(a snapshot.Approval) string {
	summary := "null"
	if a.Summary != "" {
		summary = jsonobject.Quote(a.Summary)
	}
	return `{"mode":"decision","waitAsync":false,"title":` + jsonobject.Quote(a.Title) + `,"summary":` + summary +
		`,"metadata":{},"options":[],"allowedScopes":[],"allowedUsers":[],"autoApprove":null}`
}

// ReadHumanRequest converts a row of _smithers_human_requests to a human request. An unknown kind becomes json. A
// list of options becomes a form with the member enum, if the row has no form. ok is false if the row lacks a
// node, an iteration or a time, or if a run cannot store the request.
func ReadHumanRequest(row source.Row) (h snapshot.HumanRequest, ok bool) {
	nodeID, hasNode := dbrow.ColumnText(row, "node_id")
	iteration, hasIteration := dbrow.ColumnNumber(row, "iteration")
	at, hasTime := dbrow.ColumnNumber(row, "requested_at_ms")
	if !hasNode || !hasIteration || !hasTime {
		return snapshot.HumanRequest{}, false
	}
	h = snapshot.HumanRequest{
		NodeID: nodeID, Iteration: int(iteration), Attempt: 1, RequestedAtMs: at,
		TimeoutAtMs: dbrow.ColumnNumberOrNil(row, "timeout_at_ms"), Form: dbrow.ColumnJSON(row, "schema_json"),
	}
	h.Kind, _ = dbrow.ColumnText(row, "kind")
	h.Prompt, _ = dbrow.ColumnText(row, "prompt")
	if options := dbrow.ColumnJSON(row, "options_json"); h.Form == nil && options != nil && options[0] == '[' {
		h.Form = json.RawMessage(`{"enum":` + string(options) + `}`)
	}
	switch h.Kind {
	case snapshot.HumanAsk, snapshot.HumanConfirm, snapshot.HumanSelect, snapshot.HumanJSON:
	default:
		h.Kind = snapshot.HumanJSON
	}
	answer(&h, row)
	if _, err := snapshot.DecodeHumanRequest(snapshot.EncodeHumanRequest(h)); err != nil {
		return snapshot.HumanRequest{}, false
	}
	return h, true
}

// answer sets the status of h from row, the request's row. A pending request gets no other field. Every other request
// also gets the time of the answer; if row has no such time, it is the time of the request. In addition:
//   - An answered request gets the response and the person who answered. A response that is not JSON becomes a JSON
//     string.
//   - An expired request without a time limit gets the time of the answer as its time limit.
//   - A request with an unknown status becomes cancelled. A cancelled request gets the person who answered.
func answer(h *snapshot.HumanRequest, row source.Row) {
	h.Status, _ = dbrow.ColumnText(row, "status")
	at := dbrow.ColumnNumberOrNil(row, "answered_at_ms")
	if at == nil {
		at = &h.RequestedAtMs
	}
	switch h.Status {
	case snapshot.HumanPending:
		return
	case snapshot.HumanAnswered:
		h.Response = dbrow.ColumnJSON(row, "response_json")
		if h.Response == nil {
			text, _ := dbrow.ColumnText(row, "response_json")
			h.Response = json.RawMessage(jsonobject.Quote(text))
		}
		h.AnsweredBy = dbrow.ColumnTextOrNil(row, "answered_by")
	case snapshot.HumanExpired:
		if h.TimeoutAtMs == nil {
			h.TimeoutAtMs = at
		}
	default:
		h.Status = snapshot.HumanCancelled
		h.AnsweredBy = dbrow.ColumnTextOrNil(row, "answered_by")
	}
	h.AnsweredAtMs = at
}

// humanRequestRows returns the rows of _smithers_human_requests.
func (f *Facts) humanRequestRows() []source.Row {
	var rows []source.Row
	for _, h := range f.Whole.HumanRequests {
		row := source.Row{
			"request_id": dbrow.Text(h.RequestID(f.Run.ID)), "node_id": dbrow.Text(h.NodeID), "iteration": dbrow.Int(int64(h.Iteration)),
			"kind": dbrow.Text(h.Kind), "status": dbrow.Text(h.Status), "prompt": dbrow.Text(h.Prompt),
			"response_json": dbrow.OptionalText(string(h.Response)), "requested_at_ms": dbrow.Int(h.RequestedAtMs),
			"answered_at_ms": dbrow.NullableInt(h.AnsweredAtMs), "answered_by": dbrow.NullableText(h.AnsweredBy), "timeout_at_ms": dbrow.NullableInt(h.TimeoutAtMs),
		}
		// ReadHumanRequest put the options into a form that has only the member enum.
		options, isOptions := strings.CutPrefix(string(h.Form), `{"enum":`)
		if options, closed := strings.CutSuffix(options, "}"); isOptions && closed {
			row["options_json"] = dbrow.Text(options)
		} else {
			row["schema_json"] = dbrow.OptionalText(string(h.Form))
		}
		rows = append(rows, row)
	}
	return rows
}

// ReadSignal converts a row of _smithers_signals to a signal without Seq, which the caller must set. ok is false if
// the row lacks a name, a time or a JSON payload, or if a run cannot store the signal.
func ReadSignal(row source.Row) (s snapshot.Signal, ok bool) {
	name, hasName := dbrow.ColumnText(row, "signal_name")
	at, hasTime := dbrow.ColumnNumber(row, "received_at_ms")
	s = snapshot.Signal{
		Name: name, CorrelationID: dbrow.ColumnTextOrNil(row, "correlation_id"), Payload: dbrow.ColumnJSON(row, "payload_json"),
		ReceivedAtMs: at, ReceivedBy: dbrow.ColumnTextOrNil(row, "received_by"),
	}
	if !hasName || !hasTime || s.Payload == nil {
		return snapshot.Signal{}, false
	}
	if _, err := snapshot.DecodeSignal(snapshot.EncodeSignal(s)); err != nil {
		return snapshot.Signal{}, false
	}
	return s, true
}

// peerSignals returns the signals of the run, sorted by Seq, with each Seq replaced by the number that Smithers gives
// to the signal. Outputs and signals share one sequence of numbers in Smithers. So the signals get, in their order, the
// lowest numbers that no output has.
func (f *Facts) peerSignals() []snapshot.Signal {
	taken := make(map[int64]bool)
	for _, p := range f.provenance() {
		taken[p.Seq] = true
	}
	signals := slices.SortedFunc(slices.Values(f.Whole.Signals), func(a, b snapshot.Signal) int { return int(a.Seq - b.Seq) })
	next := int64(0)
	for i := range signals {
		for taken[next] {
			next++
		}
		signals[i].Seq = next
		next++
	}
	return signals
}

// signalRows returns the rows of _smithers_signals, numbered by peerSignals.
func (f *Facts) signalRows() []source.Row {
	var rows []source.Row
	for _, s := range f.peerSignals() {
		rows = append(rows, source.Row{
			"seq": dbrow.Int(s.Seq), "signal_name": dbrow.Text(s.Name), "correlation_id": dbrow.NullableText(s.CorrelationID),
			"payload_json": dbrow.Text(string(s.Payload)), "received_at_ms": dbrow.Int(s.ReceivedAtMs), "received_by": dbrow.NullableText(s.ReceivedBy),
		})
	}
	return rows
}
