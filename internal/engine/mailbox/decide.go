package mailbox

import (
	"context"
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Decision is a person's answer to an approval.
type Decision struct {
	Place
	Approved bool
	Note     string // "" if the person gave no note
	By       string // the person's name; "" if unknown
}

// Decide approves or denies an approval at the given time, and returns the decided approval. With an error, Decide
// changes nothing. The error's code is:
//   - request_not_found, if d.Place has no approval;
//   - usage, if d.Place names no node and several nodes wait;
//   - not_pending, if the approval was decided before;
//   - invalid_input, if d.Note or d.By is not valid UTF-8.
func Decide(ctx context.Context, rec Recorder, d Decision, at time.Time) (snapshot.Approval, error) {
	note, err := saidText("the note", d.Note)
	if err != nil {
		return snapshot.Approval{}, err
	}
	by, err := saidText("the deciding person's name", d.By)
	if err != nil {
		return snapshot.Approval{}, err
	}
	var out snapshot.Approval
	operation := newOperation()
	err = act(ctx, rec, func() (*snapshot.Draft, error) {
		run := rec.Row().ID
		a, err := find(rec.State().AllApprovals(), seenApproval, d.Place, run, "an approval")
		if err != nil {
			return nil, err
		}
		if a.Status != snapshot.ApprovalRequested {
			return nil, notPending(a.NodeID, a.Iteration, "the approval", a.Status, a.DecidedBy, a.DecidedAtMs)
		}
		kind := "ApprovalDenied"
		a.Status = snapshot.ApprovalDenied
		if d.Approved {
			kind, a.Status = "ApprovalGranted", snapshot.ApprovalApproved
		}
		a.DecidedAtMs, a.DecidedBy, a.Note = new(at.UnixMilli()), by, note
		out = a // act calls this function again if the tip moves; the last call counts
		event, err := Event{Note: note, DecidedBy: by}.At(a.NodeID, a.Iteration, a.Attempt).Encode(run, kind, at.UnixMilli())
		if err != nil {
			return nil, timeline.Explain(err)
		}
		row := snapshot.EncodeApproval(a)
		return newDraft(operation, at, snapshot.Key(a.NodeID, a.Iteration)+" was "+ByWhom(a.Status, by),
			[]snapshot.Change{SetRow(snapshot.CollectionApprovals, row.Key, row.Value)}, event), nil
	})
	return out, err
}
