package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// The kinds of human requests, named as in Smithers.
const (
	HumanAsk     = "ask"     // free text: the answer is a JSON string
	HumanConfirm = "confirm" // yes or no: a JSON boolean
	HumanSelect  = "select"  // a choice: an element of the form's enum
	HumanJSON    = "json"    // a form: any value that fits its schema
)

// The statuses of a human request. A pending request changes its status once.
const (
	HumanPending   = "pending"
	HumanAnswered  = "answered"
	HumanCancelled = "cancelled"
	HumanExpired   = "expired"
)

// HumanRequest is a question to people, with the answer. In the collection "human-requests", the key of the request's
// row is the key of its node: see Key.
type HumanRequest struct {
	NodeID        string          `json:"nodeId"`
	Iteration     int             `json:"iteration"`
	Attempt       int             `json:"attempt"` // the number of the attempt that waits
	Kind          string          `json:"kind"`    // ask, confirm, select, json
	Status        string          `json:"status"`  // pending, answered, cancelled, expired
	Prompt        string          `json:"prompt"`
	Form          json.RawMessage `json:"form"`     // JSON Schema of the answer, byte for byte; nil if the answer has no schema
	Response      json.RawMessage `json:"response"` // the answer, byte for byte; nil before the answer
	RequestedAtMs int64           `json:"requestedAtMs"`
	TimeoutAtMs   *int64          `json:"timeoutAtMs"`  // when the request expires; nil means never
	AnsweredAtMs  *int64          `json:"answeredAtMs"` // when the request was answered, was cancelled or expired; nil while pending
	AnsweredBy    *string         `json:"answeredBy"`   // who answered or cancelled the request; nil if unknown, pending or expired
}

// RequestID returns the id of the request in Smithers' form: "human:<run>:<node>:<iteration>". Outside the run,
// people name the request by this id. run is the id of the run.
func (h HumanRequest) RequestID(run string) string {
	return "human:" + run + ":" + h.NodeID + ":" + strconv.Itoa(h.Iteration)
}

// humanRequestKind declares the rows of the collection "human-requests".
var humanRequestKind = row.Kind[HumanRequest]{
	Name: "human request",
	Key:  nodeKey(func(h *HumanRequest) (*string, *int) { return &h.NodeID, &h.Iteration }),
	Fields: []row.Field[HumanRequest]{
		row.NullInt("answeredAtMs", func(h *HumanRequest) **int64 { return &h.AnsweredAtMs }),
		row.NullText("answeredBy", func(h *HumanRequest) **string { return &h.AnsweredBy }),
		row.Int("attempt", func(h *HumanRequest) *int { return &h.Attempt }),
		row.JSON("form", func(h *HumanRequest) *json.RawMessage { return &h.Form }),
		row.Text("kind", func(h *HumanRequest) *string { return &h.Kind }),
		row.Text("prompt", func(h *HumanRequest) *string { return &h.Prompt }),
		row.Int("requestedAtMs", func(h *HumanRequest) *int64 { return &h.RequestedAtMs }),
		row.JSON("response", func(h *HumanRequest) *json.RawMessage { return &h.Response }),
		row.Text("status", func(h *HumanRequest) *string { return &h.Status }),
		row.NullInt("timeoutAtMs", func(h *HumanRequest) **int64 { return &h.TimeoutAtMs }),
	},
	Check:  HumanRequest.check,
	Adjust: (*HumanRequest).clearNulls,
	Valid:  checkRaw,
}

// EncodeHumanRequest returns the row of a human request, without checking the human request.
func EncodeHumanRequest(h HumanRequest) page.Row { return humanRequestKind.Encode(h) }

// DecodeHumanRequest decodes the row of a human request. If EncodeHumanRequest would not have written the row,
// or the human request is invalid, the error wraps objstore.ErrCorrupt.
func DecodeHumanRequest(r page.Row) (HumanRequest, error) { return humanRequestKind.Decode(r) }

// clearNulls sets a Form that is the JSON null to nil, because a form is never null. It does the same with Response
// if the request is not answered. The response to an answered request may be null.
func (h *HumanRequest) clearNulls() {
	if string(h.Form) == "null" {
		h.Form = nil
	}
	if string(h.Response) == "null" && h.Status != HumanAnswered {
		h.Response = nil
	}
}

// check returns an error if the human request cannot be stored: if the kind or status is unknown, if a field
// contradicts the status, or if a number or text is invalid.
func (h HumanRequest) check() error {
	switch h.Kind {
	case HumanAsk, HumanConfirm, HumanSelect, HumanJSON:
	default:
		return fmt.Errorf("kind: unknown kind %q", h.Kind)
	}
	if err := h.checkStatus(); err != nil {
		return err
	}
	return cmp.Or(
		checkAttemptNumber(h.Attempt),
		checkTimes(&h.RequestedAtMs, h.TimeoutAtMs, h.AnsweredAtMs),
		checkTexts(&h.Prompt, h.AnsweredBy),
	)
}

// checkStatus returns an error if the status is unknown, or if AnsweredAtMs, AnsweredBy, Response or TimeoutAtMs
// contradicts the status.
func (h HumanRequest) checkStatus() error {
	switch h.Status {
	case HumanPending:
		if h.AnsweredAtMs != nil {
			return errors.New("answeredAtMs: set, but the request is pending")
		}
	case HumanAnswered, HumanCancelled, HumanExpired:
		if h.AnsweredAtMs == nil {
			return errors.New("answeredAtMs: missing")
		}
	default:
		return fmt.Errorf("status: unknown status %q", h.Status)
	}
	switch {
	case h.Status == HumanAnswered && h.Response == nil:
		return errors.New("response: missing")
	case h.Status != HumanAnswered && h.Response != nil:
		return errors.New("response: set, but the request is not answered")
	case h.AnsweredBy != nil && (h.Status == HumanPending || h.Status == HumanExpired):
		return errors.New("answeredBy: set, but the request is neither answered nor cancelled")
	case h.Status == HumanExpired && h.TimeoutAtMs == nil:
		return errors.New("timeoutAtMs: missing in a request that has expired")
	}
	return nil
}
