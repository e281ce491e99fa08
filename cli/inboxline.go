package cli

import (
	"context"
	"strconv"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// inboxLine is something that a run waits for.
type inboxLine struct {
	sqliteindex.InboxRow

	engine string // that runs the run, is none of ours, and asks; "" for none
	untold bool   // it was answered or sent here, and the engine still waits for it
	tell   string // the command that tells the engine; "" where there is nothing to tell
}

// open reports whether somebody still waits for it.
func (l *inboxLine) open() bool {
	switch l.Status {
	case snapshot.ApprovalRequested, snapshot.HumanPending, snapshot.WaitWaiting:
		return true
	}
	return l.untold
}

// inboxLines are rows of the inbox with what the engines of their runs still wait for.
func (s *session) inboxLines(ctx context.Context, store *timeline.Store, rows []sqliteindex.InboxRow) ([]inboxLine, error) {
	known := make(map[string]*smithers.Untold)
	lines := make([]inboxLine, len(rows))
	for i, row := range rows {
		lines[i].InboxRow = row
		if snapshot.RunStatus(row.RunStatus).Ended() {
			continue
		}
		of, ok := known[row.RunID]
		if !ok {
			var err error
			if of, err = untoldOf(ctx, store, row.RunID); ctx.Err() != nil {
				return nil, ctx.Err()
			} else if err != nil {
				s.Warn(err)
			}
			known[row.RunID] = of
		}
		if of != nil {
			lines[i].ask(of)
		}
	}
	return lines, nil
}

// untoldOf is what Smithers has not been told of a run that it runs; nil for any other run, and for one that it does not
// have yet, such as a fork that was made here.
func untoldOf(ctx context.Context, store *timeline.Store, run string) (*smithers.Untold, error) {
	head, err := store.Head(ctx, run)
	if err != nil {
		return nil, err
	}
	if engine, err := app.ForeignEngine(head); engine != app.EngineSmithers || err != nil {
		return nil, err
	}
	return smithers.ReadUntold(store, head)
}

// ask says by which command Smithers learns the answer.
func (l *inboxLine) ask(of *smithers.Untold) {
	l.engine = app.EngineSmithers
	switch l.Kind {
	case snapshot.WaitTimer:
	case snapshot.WaitSignal:
		l.askSignal(of)
	case requestApproval:
		if a, ok := of.Approval(l.NodeID, l.Iteration); ok {
			l.untold, l.tell = true, "smithers "+foreignDecision(l.RunID, a)
		} else if l.Status == snapshot.ApprovalRequested {
			a = snapshot.Approval{NodeID: l.NodeID, Iteration: l.Iteration, Status: snapshot.ApprovalApproved}
			l.tell = "smithers " + foreignDecision(l.RunID, a)
		}
	default:
		if h, ok := untoldRequest(of, l.NodeID, l.Iteration); ok {
			l.untold, l.tell = true, "smithers "+foreignAnswer(l.RunID, h)
		} else if l.Status == snapshot.HumanPending {
			l.tell = fault.CommandLine("smithers", "human", "answer", l.RequestID) + " --value <answer>"
		}
	}
}

// untoldRequest is what was done here with what people are asked, and Smithers does not know. That its time is up is
// nothing to tell.
func untoldRequest(of *smithers.Untold, nodeID string, iteration int) (snapshot.HumanRequest, bool) {
	h, ok := of.HumanRequest(nodeID, iteration)
	return h, ok && h.Status != snapshot.HumanExpired
}

func (l *inboxLine) askSignal(of *smithers.Untold) {
	if l.Status != snapshot.WaitWaiting {
		return
	}
	sent, ok := of.Signal(l.Prompt, l.CorrelationID)
	if !ok {
		sent = snapshot.Signal{Name: l.Prompt, CorrelationID: l.CorrelationID}
	}
	l.untold, l.tell = ok, "smithers "+foreignSignal(l.RunID, sent)
}

// requestApproval is the kind of an approval in the inbox.
const requestApproval = "approval"

// foreignDecision is the part of Smithers' command that decides an approval.
func foreignDecision(run string, a snapshot.Approval) string {
	args := []string{run, "--node", a.NodeID, "--iteration", strconv.Itoa(a.Iteration)}
	if a.Note != nil {
		args = append(args, "--note", *a.Note)
	}
	if a.Status == snapshot.ApprovalDenied {
		return fault.CommandLine("deny", args...)
	}
	return fault.CommandLine("approve", args...)
}

// foreignAnswer is the part of Smithers' command that settles what people are asked.
func foreignAnswer(run string, h snapshot.HumanRequest) string {
	if h.Status != snapshot.HumanAnswered {
		return fault.CommandLine("human", "cancel", h.RequestID(run))
	}
	return fault.CommandLine("human", "answer", h.RequestID(run), "--value", string(h.Response))
}

// orNull is nil for "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
