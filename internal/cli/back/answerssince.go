package back

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// noteAnswersSince notes the answers and signals that a run received after the forked frame, because the fork does not
// have them. If there are no such answers and signals, it notes nothing. tip is the newest entry of the run. at is the
// address of the forked frame.
func noteAnswersSince(ctx context.Context, s *session.Session, store *timeline.Store, tip *snapshot.Entry, at timeline.Address) error {
	frame, err := store.At(ctx, at)
	if err != nil || frame.Entry.ID == tip.ID {
		return err
	}
	before, err := frame.Entry.State()
	if err != nil {
		return timeline.Explain(err)
	}
	now, err := tip.State()
	if err != nil {
		return timeline.Explain(err)
	}
	names, err := answersSince(before, now)
	if err != nil {
		return timeline.Explain(err)
	}
	if len(names) > 0 {
		s.Note("answers given after frame %d are not part of the fork: %s", at.Frame, display.List(names))
	}
	return nil
}

// answersSince returns names for the answers that the state now has and the state before lacks. There is a name for the
// node of each approval that was decided, and of each human request that was answered or cancelled. If there are new
// signals, the last name is their number in words, such as "2 signals".
func answersSince(before, now *snapshot.State) (names []string, err error) {
	for a, err := range now.AllApprovals() {
		if err != nil {
			return nil, err
		}
		was, err := rowAt(before.Approvals(), snapshot.Key(a.NodeID, a.Iteration), snapshot.DecodeApproval)
		if err != nil {
			return nil, err
		}
		if a.Status != snapshot.ApprovalRequested && (was == nil || was.Status == snapshot.ApprovalRequested) {
			names = append(names, display.AttemptName(a.NodeID, a.Iteration))
		}
	}
	for h, err := range now.AllHumanRequests() {
		if err != nil {
			return nil, err
		}
		was, err := rowAt(before.HumanRequests(), snapshot.Key(h.NodeID, h.Iteration), snapshot.DecodeHumanRequest)
		if err != nil {
			return nil, err
		}
		settled := h.Status == snapshot.HumanAnswered || h.Status == snapshot.HumanCancelled
		if settled && (was == nil || was.Status == snapshot.HumanPending) {
			names = append(names, display.AttemptName(h.NodeID, h.Iteration))
		}
	}
	if sent := now.Signals().Len() - before.Signals().Len(); sent > 0 {
		names = append(names, plain.Count(sent, "signal"))
	}
	return names, nil
}

// rowAt returns the row with the given key in the collection rows, decoded by decode. It returns nil if the collection
// has no such row.
func rowAt[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (*T, error) {
	value, ok, err := rows.Get(key)
	if err != nil || !ok {
		return nil, err
	}
	row, err := decode(page.Row{Key: key, Value: value})
	return &row, err
}
