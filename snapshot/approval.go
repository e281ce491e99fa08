package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// The statuses of an approval.
const (
	ApprovalRequested = "requested"
	ApprovalApproved  = "approved"
	ApprovalDenied    = "denied"
)

// Approval is a gate at which a run waits for somebody's yes or no. Its key in the
// collection "approvals" is that of its node.
type Approval struct {
	NodeID        string  `json:"nodeId"`
	Iteration     int     `json:"iteration"`
	Attempt       int     `json:"attempt"` // of the node, that waits for it
	Status        string  `json:"status"`  // requested, approved, denied
	Title         string  `json:"title"`
	Summary       string  `json:"summary,omitempty"`
	RequestedAtMs int64   `json:"requestedAtMs"`
	DecidedAtMs   *int64  `json:"decidedAtMs"` // nil and the next two as well while it is requested
	DecidedBy     *string `json:"decidedBy"`
	Note          *string `json:"note"`
}

// EncodeApproval is the row of an approval.
func EncodeApproval(a Approval) page.Row {
	return page.Row{Key: Key(a.NodeID, a.Iteration), Value: appendApproval(nil, a)}
}

// DecodeApproval reads the row of an approval. Bytes that EncodeApproval would not
// have written are objstore.ErrCorrupt.
func DecodeApproval(row page.Row) (Approval, error) {
	a, err := decodeApproval(row)
	if err != nil {
		return Approval{}, corrupt(objstore.ID{}, "approval %q: %v", row.Key, err)
	}
	return a, nil
}

func decodeApproval(row page.Row) (a Approval, err error) {
	if a.NodeID, a.Iteration, err = SplitKey(row.Key); err != nil {
		return Approval{}, err
	}
	m := metadata{rest: row.Value}
	m.name("attempt")
	a.Attempt = int(m.int())
	m.name("decidedAtMs")
	a.DecidedAtMs = nullable(&m, m.int)
	m.name("decidedBy")
	a.DecidedBy = nullable(&m, m.str)
	m.name("note")
	a.Note = nullable(&m, m.str)
	m.name("requestedAtMs")
	a.RequestedAtMs = m.int()
	m.name("status")
	a.Status = m.str()
	a.Summary = m.optionalStr("summary")
	m.name("title")
	a.Title = m.str()
	m.close()
	if !m.done("") || !bytes.Equal(appendApproval(nil, a), row.Value) {
		return Approval{}, errNotCanonical
	}
	if err := a.check(); err != nil {
		return Approval{}, err
	}
	return a, nil
}

func appendApproval(b []byte, a Approval) []byte {
	b = appendIntMember(append(b, '{'), "attempt", int64(a.Attempt))
	b = appendNullable(b, "decidedAtMs", a.DecidedAtMs, appendInt64)
	b = appendNullable(b, "decidedBy", a.DecidedBy, page.AppendString)
	b = appendNullable(b, "note", a.Note, page.AppendString)
	b = appendIntMember(b, "requestedAtMs", a.RequestedAtMs)
	b = appendStringMember(b, "status", a.Status)
	b = appendOptional(b, "summary", a.Summary)
	b = appendStringMember(b, "title", a.Title)
	return append(b, '}')
}

// check says what of an approval cannot be stored.
func (a Approval) check() error {
	switch a.Status {
	case ApprovalRequested:
		if a.DecidedAtMs != nil || a.DecidedBy != nil || a.Note != nil {
			return errors.New("decidedAtMs, decidedBy or note: of an approval that is only requested")
		}
	case ApprovalApproved, ApprovalDenied:
		if a.DecidedAtMs == nil {
			return errors.New("decidedAtMs: missing")
		}
	default:
		return fmt.Errorf("status: unknown status %q", a.Status)
	}
	return cmp.Or(
		checkAttemptNumber(a.Attempt),
		checkTimes(&a.RequestedAtMs, a.DecidedAtMs),
		checkTexts(&a.Title, &a.Summary, a.DecidedBy, a.Note),
	)
}

// parseApproval reads an approval as engines write it. With a key, nodeId and
// iteration may be left out but must not differ.
func parseApproval(key string, value json.RawMessage) (Approval, error) {
	var a Approval
	place := rowPlace{key: key}
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "attempt":
			return field(value, &a.Attempt)
		case "status":
			return field(value, &a.Status)
		case "title":
			return field(value, &a.Title)
		case "summary":
			return field(value, &a.Summary)
		case "requestedAtMs":
			return field(value, &a.RequestedAtMs)
		case "decidedAtMs":
			return field(value, &a.DecidedAtMs)
		case "decidedBy":
			return field(value, &a.DecidedBy)
		case "note":
			return field(value, &a.Note)
		}
		return place.member(name, value)
	})
	if err == nil {
		a.NodeID, a.Iteration, err = place.resolve()
	}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return Approval{}, fmt.Errorf("approval %q: %w", cmp.Or(key, a.NodeID), err)
	}
	return a, nil
}
