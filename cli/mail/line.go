// Package mail shows what runs wait for: the lines of the inbox, and the answers that Smithers has not been told.
package mail

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Line is a line of the inbox: an approval, a request, a signal or a timer.
type Line struct {
	sqliteindex.InboxRow

	Engine string // the other engine that runs the run and asks; "" for none
	Untold bool   // the answer or signal was given in this repository, and the engine has not been told
	tell   string // the command that passes the answer to the engine, or ""
}

// Open reports whether the run still waits, or whether its engine has not been told the answer.
func (l *Line) Open() bool {
	switch l.Status {
	case snapshot.ApprovalRequested, snapshot.HumanPending, snapshot.WaitWaiting:
		return true
	}
	return l.Untold
}

// Lines returns a line for each row, in the same order. If Smithers runs the run, and the run has not ended, the line
// also has the engine, whether an answer has not reached Smithers, and the command that passes the answer on. If these
// facts cannot be read, Lines warns and leaves them out. The error is that of ctx.
func Lines(ctx context.Context, s *session.Session, store *timeline.Store, rows []sqliteindex.InboxRow) ([]Line, error) {
	known := make(map[string]*smithers.Untold)
	lines := make([]Line, len(rows))
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

// untoldOf returns the answers in a run that have not reached Smithers. It returns nil if Smithers does not run the
// run.
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

// ask sets the line's engine to Smithers. If the line waits for a person or a signal, ask also sets the command that
// passes the answer to Smithers, and whether an answer was given in this repository that has not reached Smithers.
// untold has the answers that have not reached Smithers.
func (l *Line) ask(untold *smithers.Untold) {
	l.Engine = app.EngineSmithers
	switch l.Kind {
	case snapshot.WaitTimer:
	case snapshot.WaitSignal:
		l.askSignal(untold)
	case KindApproval:
		if a, ok := untold.Approval(l.NodeID, l.Iteration); ok {
			l.Untold, l.tell = true, "smithers "+ForeignDecision(l.RunID, a)
		} else if l.Status == snapshot.ApprovalRequested {
			a = snapshot.Approval{NodeID: l.NodeID, Iteration: l.Iteration, Status: snapshot.ApprovalApproved}
			l.tell = "smithers " + ForeignDecision(l.RunID, a)
		}
	default:
		if h, ok := untoldRequest(untold, l.NodeID, l.Iteration); ok {
			l.Untold, l.tell = true, "smithers "+ForeignAnswer(l.RunID, h)
		} else if l.Status == snapshot.HumanPending {
			l.tell = fault.CommandLine("smithers", "human", "answer", l.RequestID) + " --value <answer>"
		}
	}
}

// untoldRequest returns the settled human request of a node's iteration. It returns true if the answer or the
// withdrawal has not reached Smithers. For an expired request, it returns false, because there is no answer.
func untoldRequest(untold *smithers.Untold, nodeID string, iteration int) (snapshot.HumanRequest, bool) {
	h, ok := untold.HumanRequest(nodeID, iteration)
	return h, ok && h.Status != snapshot.HumanExpired
}

// askSignal sets the members of a line that waits for a signal, as ask does. It does nothing if the wait is over.
func (l *Line) askSignal(untold *smithers.Untold) {
	if l.Status != snapshot.WaitWaiting {
		return
	}
	sent, ok := untold.Signal(l.Prompt, l.CorrelationID)
	if !ok {
		sent = snapshot.Signal{Name: l.Prompt, CorrelationID: l.CorrelationID}
	}
	l.Untold, l.tell = ok, "smithers "+ForeignSignal(l.RunID, sent)
}

// KindApproval is the kind of an approval in the inbox.
const KindApproval = "approval"

// Prompt returns the text of a line for people: the question, with the choices of a selection; the name and the
// correlation of a signal; or the time at which a timer is due.
func Prompt(l Line) string {
	switch {
	case l.Kind == snapshot.WaitTimer && l.TimeoutAtMs != nil:
		return display.ClockTime(*l.TimeoutAtMs)
	case l.Kind == snapshot.WaitSignal && l.CorrelationID != nil:
		return l.Prompt + ", correlation " + *l.CorrelationID
	case l.Kind == snapshot.HumanSelect && l.Form != nil:
		return l.Prompt + " (" + display.ListUpTo(ChoicesShown, Choices(json.RawMessage(*l.Form))) + ")"
	}
	return l.Prompt
}

// HowToSettle returns the command that answers the request or sends the signal of a line, or "" if there is nothing to
// answer. For an open approval, ", or deny" follows the command.
func HowToSettle(l Line) string {
	deny := ""
	if l.Status == snapshot.ApprovalRequested {
		deny = ", or deny"
	}
	switch {
	case l.tell != "":
		return l.tell + deny
	case deny != "":
		return fault.CommandLine(arg.Program, "approve", l.RunID, l.NodeID) + deny
	case l.Status == snapshot.HumanPending:
		return fault.CommandLine(arg.Program, "answer", l.RunID, l.NodeID)
	case l.Status == snapshot.WaitWaiting && l.Kind == snapshot.WaitSignal:
		return fault.CommandLine(arg.Program, signalArguments(l.RunID, snapshot.Signal{Name: l.Prompt, CorrelationID: l.CorrelationID})...)
	}
	return ""
}
