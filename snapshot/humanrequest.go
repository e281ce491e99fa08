package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// The kinds of human requests, as Smithers calls them.
const (
	HumanAsk     = "ask"     // free text: the answer is a JSON string
	HumanConfirm = "confirm" // yes or no: a JSON boolean
	HumanSelect  = "select"  // one of several: an element of the form's enum
	HumanJSON    = "json"    // a form: whatever its schema says
)

// The statuses of a human request. It leaves pending once, for one of the others.
const (
	HumanPending   = "pending"
	HumanAnswered  = "answered"
	HumanCancelled = "cancelled"
	HumanExpired   = "expired"
)

// HumanRequest is a question to people. Its key in the collection "human-requests"
// is that of its node.
type HumanRequest struct {
	NodeID        string          `json:"nodeId"`
	Iteration     int             `json:"iteration"`
	Attempt       int             `json:"attempt"` // of the node, that waits for it
	Kind          string          `json:"kind"`    // ask, confirm, select, json
	Status        string          `json:"status"`  // pending, answered, cancelled, expired
	Prompt        string          `json:"prompt"`
	Form          json.RawMessage `json:"form"`     // JSON Schema of the answer, byte for byte; nil for none
	Response      json.RawMessage `json:"response"` // the answer, byte for byte; nil while there is none
	RequestedAtMs int64           `json:"requestedAtMs"`
	TimeoutAtMs   *int64          `json:"timeoutAtMs"`  // when it expires; nil: never
	AnsweredAtMs  *int64          `json:"answeredAtMs"` // when it left pending
	AnsweredBy    *string         `json:"answeredBy"`   // who answered or cancelled it
}

// RequestID is how people outside of the run call the request: Smithers' form,
// "human:<run>:<node>:<iteration>".
func (h HumanRequest) RequestID(run string) string {
	return "human:" + run + ":" + h.NodeID + ":" + strconv.Itoa(h.Iteration)
}

// EncodeHumanRequest is the row of a human request.
func EncodeHumanRequest(h HumanRequest) page.Row {
	return page.Row{Key: Key(h.NodeID, h.Iteration), Value: appendHumanRequest(nil, h)}
}

// DecodeHumanRequest reads the row of a human request. Bytes that EncodeHumanRequest
// would not have written are objstore.ErrCorrupt.
func DecodeHumanRequest(row page.Row) (HumanRequest, error) {
	h, err := decodeHumanRequest(row)
	if err != nil {
		return HumanRequest{}, corrupt(objstore.ID{}, "human request %q: %v", row.Key, err)
	}
	return h, nil
}

func decodeHumanRequest(row page.Row) (h HumanRequest, err error) {
	if h.NodeID, h.Iteration, err = SplitKey(row.Key); err != nil {
		return HumanRequest{}, err
	}
	if err := checkRaw(row.Value); err != nil {
		return HumanRequest{}, err
	}
	m := metadata{rest: row.Value}
	m.name("answeredAtMs")
	h.AnsweredAtMs = nullable(&m, m.int)
	m.name("answeredBy")
	h.AnsweredBy = nullable(&m, m.str)
	m.name("attempt")
	h.Attempt = int(m.int())
	m.name("form")
	h.Form = m.raw()
	m.name("kind")
	h.Kind = m.str()
	m.name("prompt")
	h.Prompt = m.str()
	m.name("requestedAtMs")
	h.RequestedAtMs = m.int()
	m.name("response")
	h.Response = m.raw()
	m.name("status")
	h.Status = m.str()
	m.name("timeoutAtMs")
	h.TimeoutAtMs = nullable(&m, m.int)
	m.close()
	h.clearNulls()
	if !m.done("") || !bytes.Equal(appendHumanRequest(nil, h), row.Value) {
		return HumanRequest{}, errNotCanonical
	}
	if err := h.check(); err != nil {
		return HumanRequest{}, err
	}
	return h, nil
}

// clearNulls makes a null that stands for nothing nil: no schema is null, and an answer
// may be.
func (h *HumanRequest) clearNulls() {
	if string(h.Form) == "null" {
		h.Form = nil
	}
	if string(h.Response) == "null" && h.Status != HumanAnswered {
		h.Response = nil
	}
}

func appendHumanRequest(b []byte, h HumanRequest) []byte {
	b = appendNullable(append(b, '{'), "answeredAtMs", h.AnsweredAtMs, appendInt64)
	b = appendNullable(b, "answeredBy", h.AnsweredBy, page.AppendString)
	b = appendIntMember(b, "attempt", int64(h.Attempt))
	b = appendRaw(b, "form", h.Form)
	b = appendStringMember(b, "kind", h.Kind)
	b = appendStringMember(b, "prompt", h.Prompt)
	b = appendIntMember(b, "requestedAtMs", h.RequestedAtMs)
	b = appendRaw(b, "response", h.Response)
	b = appendStringMember(b, "status", h.Status)
	b = appendNullable(b, "timeoutAtMs", h.TimeoutAtMs, appendInt64)
	return append(b, '}')
}

// check says what of a human request cannot be stored.
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

// checkStatus refuses what does not go with the status.
func (h HumanRequest) checkStatus() error {
	switch h.Status {
	case HumanPending:
		if h.AnsweredAtMs != nil {
			return errors.New("answeredAtMs: of a request that is pending")
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
		return errors.New("response: of a request that is not answered")
	case h.AnsweredBy != nil && (h.Status == HumanPending || h.Status == HumanExpired):
		return errors.New("answeredBy: of a request that nobody has answered or cancelled")
	case h.Status == HumanExpired && h.TimeoutAtMs == nil:
		return errors.New("timeoutAtMs: of a request that has expired")
	}
	return nil
}

// parseHumanRequest reads a human request as engines write it. With a key, nodeId and
// iteration may be left out but must not differ.
func parseHumanRequest(key string, value json.RawMessage) (HumanRequest, error) {
	var h HumanRequest
	place := rowPlace{key: key}
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "attempt":
			return field(value, &h.Attempt)
		case "kind":
			return field(value, &h.Kind)
		case "status":
			return field(value, &h.Status)
		case "prompt":
			return field(value, &h.Prompt)
		case "form":
			h.Form = value
			return nil
		case "response":
			h.Response = value
			return nil
		case "requestedAtMs":
			return field(value, &h.RequestedAtMs)
		case "timeoutAtMs":
			return field(value, &h.TimeoutAtMs)
		case "answeredAtMs":
			return field(value, &h.AnsweredAtMs)
		case "answeredBy":
			return field(value, &h.AnsweredBy)
		}
		return place.member(name, value)
	})
	if err == nil {
		h.NodeID, h.Iteration, err = place.resolve()
	}
	if err == nil {
		h.clearNulls()
		err = h.check()
	}
	if err != nil {
		return HumanRequest{}, fmt.Errorf("human request %q: %w", cmp.Or(key, h.NodeID), err)
	}
	return h, nil
}
