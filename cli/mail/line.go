// Package mail shows what runs wait for: the lines of the inbox, and the answers of which Smithers was not told.
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
	"github.com/git-smithers/git-smithers/timeline/list"
)

// A Line is a line of the inbox: an approval, a request, a signal or a timer.
type Line struct {
	sqliteindex.InboxRow

	Engine string // the other engine that runs the run and waits for the answer; "" for none
	Untold bool   // the engine was not told of the answer or signal that was given in this repository
	tell   string // the command that passes the answer to the engine, or ""
}

// Open reports whether the inbox shows the line as open. It returns true if the run still waits for the answer, or if
// the engine that runs the run was not told of the answer.
func (l *Line) Open() bool {
	switch l.Status {
	case snapshot.ApprovalRequested, snapshot.HumanPending, snapshot.WaitWaiting:
		return true
	}
	return l.Untold
}

// Lines returns a line for each row, in the same order. If Smithers runs a run that has not ended, Lines also fills in
// the fields that ask sets, as of the entry that the row is from: the engine, the answer of which Smithers was not told, and
// the command that tells Smithers. If these facts cannot be read, Lines warns and leaves the fields empty. The only error is
// the error of ctx.
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
			head, err := list.HeadAt(store, row.RunID, row.Tip)
			if err == nil {
				of, err = untoldOf(store, head)
			}
			if ctx.Err() != nil {
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

// untoldOf returns the answers in a run of which Smithers was not told, as of the entry that head knows. It returns nil if
// Smithers does not run the run.
func untoldOf(store *timeline.Store, head *timeline.Head) (*smithers.Untold, error) {
	if engine, err := app.ForeignEngine(head); engine != app.EngineSmithers || err != nil {
		return nil, err
	}
	return smithers.ReadUntold(store, head)
}

// ask fills in the fields of a line whose run Smithers runs. untold has the answers of which Smithers was not told.
//
// ask always sets l.Engine. If untold has an answer for the line, ask sets l.Untold, and the command that passes this
// answer to Smithers. Otherwise, if the line still waits for an answer or signal, ask sets only the command that
// answers in Smithers. For a timer, it sets neither.
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

// untoldRequest returns the human request of the given node and iteration, and true, if untold has this request: it was
// answered or cancelled, and Smithers was not told. Otherwise untoldRequest returns false. It also returns false for an
// expired request, because there is nothing to tell.
func untoldRequest(untold *smithers.Untold, nodeID string, iteration int) (snapshot.HumanRequest, bool) {
	h, ok := untold.HumanRequest(nodeID, iteration)
	return h, ok && h.Status != snapshot.HumanExpired
}

// askSignal sets the command that sends the signal of the line to Smithers. If untold has the signal, it also sets
// l.Untold. The line must wait for a signal; if the wait is over, askSignal does nothing.
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

// Prompt returns the text of the line l for people. For a selection, this is the question and the choices. For a
// signal, it is the name of the signal and its correlation id. For a timer, it is the time at which the timer is due.
// For any other line, it is the question.
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

// HowToSettle returns the command that answers the request of the line l, or sends the signal that l waits for. If
// Smithers runs the run, this is a command of Smithers. If an approval is open, the result ends with ", or deny".
// HowToSettle returns "" if there is nothing to answer.
func HowToSettle(l Line) string {
	how := Settle(l)
	if how != "" && l.Status == snapshot.ApprovalRequested {
		how += ", or deny"
	}
	return how
}

// Settle returns the command of HowToSettle alone: for an open approval, the one that approves.
func Settle(l Line) string {
	switch {
	case l.tell != "":
		return l.tell
	case l.Status == snapshot.ApprovalRequested:
		return fault.CommandLine(arg.Program, "approve", l.RunID, l.NodeID)
	case l.Status == snapshot.HumanPending:
		return fault.CommandLine(arg.Program, "answer", l.RunID, l.NodeID)
	case l.Status == snapshot.WaitWaiting && l.Kind == snapshot.WaitSignal:
		return fault.CommandLine(arg.Program, signalArguments(l.RunID, snapshot.Signal{Name: l.Prompt, CorrelationID: l.CorrelationID})...)
	}
	return ""
}
