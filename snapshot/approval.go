package snapshot

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// The statuses of an approval.
const (
	ApprovalRequested = "requested"
	ApprovalApproved  = "approved"
	ApprovalDenied    = "denied"
)

// Approval is a request for a person's yes or no, with the decision. The run waits for the decision. In the collection
// "approvals", the key of the approval's row is the key of its node: see Key.
type Approval struct {
	NodeID        string  `json:"nodeId"`
	Iteration     int     `json:"iteration"`
	Attempt       int     `json:"attempt"` // the number of the attempt that waits
	Status        string  `json:"status"`  // requested, approved, denied
	Title         string  `json:"title"`
	Summary       string  `json:"summary,omitempty"`
	RequestedAtMs int64   `json:"requestedAtMs"`
	DecidedAtMs   *int64  `json:"decidedAtMs"` // nil while Status is requested, like DecidedBy and Note
	DecidedBy     *string `json:"decidedBy"`
	Note          *string `json:"note"`
}

// approvalKind declares the rows of the collection "approvals".
var approvalKind = row.Kind[Approval]{
	Name: "approval",
	Key:  nodeKey(func(a *Approval) (*string, *int) { return &a.NodeID, &a.Iteration }),
	Fields: []row.Field[Approval]{
		row.Int("attempt", func(a *Approval) *int { return &a.Attempt }),
		row.NullInt("decidedAtMs", func(a *Approval) **int64 { return &a.DecidedAtMs }),
		row.NullText("decidedBy", func(a *Approval) **string { return &a.DecidedBy }),
		row.NullText("note", func(a *Approval) **string { return &a.Note }),
		row.Int("requestedAtMs", func(a *Approval) *int64 { return &a.RequestedAtMs }),
		row.Text("status", func(a *Approval) *string { return &a.Status }),
		row.OptionalText("summary", func(a *Approval) *string { return &a.Summary }),
		row.Text("title", func(a *Approval) *string { return &a.Title }),
	},
	Check: Approval.check,
}

// EncodeApproval returns the row of an approval, without checking the approval.
func EncodeApproval(a Approval) page.Row { return approvalKind.Encode(a) }

// DecodeApproval decodes the row of an approval. If EncodeApproval would not have written the row, or the
// approval is invalid, the error wraps objstore.ErrCorrupt.
func DecodeApproval(r page.Row) (Approval, error) { return approvalKind.Decode(r) }

// check returns an error if the approval cannot be stored: the status is unknown, a field contradicts the status, or
// a number or a text is invalid. An undecided approval must not have a decision, and a decided approval must have the
// time of the decision.
func (a Approval) check() error {
	switch a.Status {
	case ApprovalRequested:
		if a.DecidedAtMs != nil || a.DecidedBy != nil || a.Note != nil {
			return errors.New("decidedAtMs, decidedBy or note: set, but the approval is not decided")
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
