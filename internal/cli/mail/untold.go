package mail

import (
	"context"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
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
	list, err := readUntold(ctx, s, store, head)
	if err != nil && ctx.Err() == nil {
		s.Warn(err)
	}
	return list
}

// readUntold returns the answers in a run of which Smithers was not told. It returns nil if the run has ended, or if
// Smithers does not run the run. Unlike Untold, it returns an error if the answers cannot be read.
func readUntold(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head) (told UntoldAnswers, err error) {
	if head.Row().Status.Ended() {
		return nil, nil
	}
	engine, err := app.ForeignEngine(head)
	if engine != app.EngineSmithers || err != nil {
		return nil, err
	}
	lines, err := allOf(ctx, store, head, engine, s.Now)
	for _, l := range lines {
		if l.Untold && err == nil {
			told = append(told, untoldAnswer{l.NodeID, l.Iteration, l.Kind, l.Status, l.tell})
		}
	}
	return told, err
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
