package mail

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// NotTold is the text after the status of an answer or signal that was given in this repository, if the run's engine
// was not told of the answer or signal.
const NotTold = ", not told"

// An untoldAnswer is an answer or signal that was given in this repository, while the engine that runs the run
// still waits for it.
type untoldAnswer struct {
	NodeID      string `json:"nodeId"`
	Iteration   int    `json:"iteration"`
	RequestKind string `json:"requestKind"`
	Status      string `json:"status"` // as in inbox
	Tell        string `json:"tell"`   // the command that passes the answer to the engine
}

// UntoldAnswers has the answers at a run's tip of which another engine was not told. It is empty for a run that git
// smithers runs, and for a run that has ended.
type UntoldAnswers []untoldAnswer

// Untold returns the answers in a run of which Smithers was not told, as of the entry that head knows. If the answers cannot be read,
// Untold warns and returns nil, so that the caller can still show the run. If ctx has ended, it returns nil without a warning.
func Untold(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head) UntoldAnswers {
	list, err := readUntold(store, head)
	if err != nil && ctx.Err() == nil {
		s.Warn(err)
	}
	return list
}

// readUntold returns the answers in a run of which Smithers was not told. It returns nil if the run has ended, or if
// Smithers does not run the run. Unlike Untold, it returns an error if the answers cannot be read.
func readUntold(store *timeline.Store, head *timeline.Head) (UntoldAnswers, error) {
	if head.Row().Status.Ended() {
		return nil, nil
	}
	if engine, err := app.ForeignEngine(head); engine != app.EngineSmithers || err != nil {
		return nil, err
	}
	of, err := smithers.ReadUntold(store, head)
	if err != nil {
		return nil, err
	}
	list, err := listUntold(of, head.Row().ID, head.State())
	return list, timeline.Explain(err)
}

// listUntold returns the answers in untold that belong to something in state: to an approval, a human request, or an
// open wait for a signal. Each result has the command that tells Smithers of the answer. run is the id of the run.
func listUntold(untold *smithers.Untold, run string, state *snapshot.State) (list UntoldAnswers, err error) {
	for row, err := range state.AllApprovals() {
		if err != nil {
			return nil, err
		}
		if a, ok := untold.Approval(row.NodeID, row.Iteration); ok {
			list = append(list, untoldAnswer{a.NodeID, a.Iteration, KindApproval, a.Status, "smithers " + ForeignDecision(run, a)})
		}
	}
	for row, err := range state.AllHumanRequests() {
		if err != nil {
			return nil, err
		}
		if h, ok := untoldRequest(untold, row.NodeID, row.Iteration); ok {
			list = append(list, untoldAnswer{h.NodeID, h.Iteration, row.Kind, h.Status, "smithers " + ForeignAnswer(run, h)})
		}
	}
	for w, err := range state.AllWaits() {
		if err != nil {
			return nil, err
		}
		if w.Kind != snapshot.WaitSignal || w.Status != snapshot.WaitWaiting {
			continue
		}
		if sent, ok := untold.Signal(w.Signal, w.CorrelationID); ok {
			list = append(list, untoldAnswer{w.NodeID, w.Iteration, w.Kind, w.Status, "smithers " + ForeignSignal(run, sent)})
		}
	}
	return list, nil
}

// Mark returns NotTold if l has an answer to the request with the given kind, node and iteration, and "" otherwise.
func (l UntoldAnswers) Mark(requestKind, nodeID string, iteration int) string {
	for _, u := range l {
		if u.RequestKind == requestKind && u.NodeID == nodeID && u.Iteration == iteration {
			return NotTold
		}
	}
	return ""
}
