// Package mail shows what runs wait for: the lines of the inbox, and the answers of which Smithers was not told.
package mail

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Line is a line of the inbox: an approval, a request, a signal or a timer.
type Line struct {
	sqliteindex.InboxRow

	Engine string // the other engine that runs the run and waits for the answer; "" for none
	Untold bool   // the engine was not told of the answer or signal that was given in this repository
	tell   string // the command that passes the answer to the engine, or ""
	// Ready reports whether what the line waits for has come, and nobody executes the run: resume goes on with it.
	Ready  bool
	resume string // the command that resumes the run, if Ready
}

// Open reports whether the inbox shows the line as open. It returns true if the run still waits for the answer, if it can go on with it and
// nobody executes it, or if the engine that runs the run was not told of the answer.
func (l *Line) Open() bool {
	switch l.Status {
	case snapshot.ApprovalRequested, snapshot.HumanPending, snapshot.WaitWaiting:
		return true
	}
	return l.Untold || l.Ready
}

// markReady sets Ready and the command of the lines of one run whose waits can end.
func markReady(ctx context.Context, store *timeline.Store, head *timeline.Head, engine string, now time.Time, lines []*Line) error {
	ready, err := app.ReadyWaits(store, head, engine, now)
	if err != nil || len(ready) == 0 {
		return err
	}
	command, err := app.ResumeCommand(ctx, store, head)
	if err != nil {
		return err
	}
	for _, line := range lines {
		line.Ready = slices.ContainsFunc(ready, func(w mailbox.Waiting) bool {
			return w.NodeID == line.NodeID && w.Iteration == line.Iteration && kindFits(w.For, line.Kind)
		})
		if line.Ready {
			line.resume = command
		}
	}
	return nil
}

// kindFits reports whether the kind of a wait, as in mailbox.Waiting, matches the kind of a line of the inbox.
func kindFits(wait, line string) bool {
	switch line {
	case KindApproval, snapshot.WaitSignal, snapshot.WaitTimer:
		return wait == line
	}
	return wait == "human"
}

// Lines returns a line for each row, in the same order. Of a run that has not ended, Lines also fills in
// Ready, and if Smithers runs the run the fields that ask sets, as of the entry that the row is from: the engine, the answer of which Smithers was not told, and
// the command that tells Smithers. If these facts cannot be read, Lines warns and leaves the fields empty. The only error is
// the error of ctx.
func Lines(ctx context.Context, s *session.Session, store *timeline.Store, rows []sqliteindex.InboxRow) ([]Line, error) {
	lines := make([]Line, len(rows))
	going := make(map[string][]*Line) // by run
	var runs []string
	for i, row := range rows {
		lines[i].InboxRow = row
		if snapshot.RunStatus(row.RunStatus).Ended() {
			continue
		}
		if going[row.RunID] == nil {
			runs = append(runs, row.RunID)
		}
		going[row.RunID] = append(going[row.RunID], &lines[i])
	}
	for _, run := range runs {
		err := completeLines(ctx, s, store, going[run])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err != nil {
			s.Warn(err)
		}
	}
	return lines, nil
}

// completeLines fills in the fields of the lines of one run that rows do not have.
func completeLines(ctx context.Context, s *session.Session, store *timeline.Store, lines []*Line) error {
	head, err := list.HeadAt(store, lines[0].RunID, lines[0].Tip)
	if err != nil {
		return err
	}
	engine, err := app.ForeignEngine(head)
	if err != nil {
		return err
	}
	return complete(ctx, store, head, engine, func() time.Time { return s.Now() }, lines)
}

// complete fills in the fields of the lines of the run of head that rows do not have. engine is the other engine that runs the run, or "".
func complete(ctx context.Context, store *timeline.Store, head *timeline.Head, engine string, now func() time.Time, lines []*Line) error {
	if engine != app.EngineSmithers {
		return markReady(ctx, store, head, engine, now(), lines)
	}
	untold, err := smithers.ReadUntold(store, head)
	if err != nil {
		return err
	}
	for _, line := range lines {
		line.ask(untold)
	}
	return nil
}

// ask fills in the fields of a line whose run Smithers runs. untold has the answers of which Smithers was not told.
//
// ask always sets l.Engine. If untold has an answer for the line, ask sets l.Untold, and the command that passes this
// answer to Smithers. Otherwise, if the line still waits for an answer or signal, ask sets only the command that
// answers in Smithers. For a timer, it sets neither. A request that has expired is not told: there is nothing to tell.
func (l *Line) ask(untold *smithers.Untold) {
	l.Engine = app.EngineSmithers
	var given mailbox.Receipt
	open := false
	switch l.Kind {
	case snapshot.WaitTimer:
		return
	case snapshot.WaitSignal:
		if l.Status != snapshot.WaitWaiting {
			return
		}
		sent, ok := untold.Signal(l.Prompt, l.CorrelationID)
		if !ok {
			sent = snapshot.Signal{Name: l.Prompt, CorrelationID: l.CorrelationID}
		}
		given, l.Untold, open = mailbox.Receipt{Signal: &sent}, ok, true
	case KindApproval:
		a, ok := untold.Approval(l.NodeID, l.Iteration)
		if !ok {
			a = snapshot.Approval{NodeID: l.NodeID, Iteration: l.Iteration, Status: snapshot.ApprovalApproved}
		}
		given, l.Untold, open = mailbox.Receipt{Approval: &a}, ok, l.Status == snapshot.ApprovalRequested
	default:
		h, ok := untold.HumanRequest(l.NodeID, l.Iteration)
		if given, l.Untold = (mailbox.Receipt{Request: &h}), ok && h.Status != snapshot.HumanExpired; !l.Untold {
			if l.Status == snapshot.HumanPending {
				l.tell = fault.CommandLine("smithers", "human", "answer", l.RequestID) + " --value <answer>"
			}
			return
		}
	}
	if l.Untold || open {
		l.tell = "smithers " + Foreign(l.RunID, given)
	}
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
// Smithers runs the run, this is a command of Smithers. If the run can go on, this is the command that resumes it. If an approval is open, the result ends with ", or deny".
// HowToSettle returns "" if there is nothing to answer.
func HowToSettle(l Line) string {
	how := Settle(l)
	if how != "" && !l.Ready && l.Status == snapshot.ApprovalRequested {
		how += ", or deny"
	}
	return how
}

// Settle returns the command of HowToSettle alone: for an open approval, the one that approves.
func Settle(l Line) string {
	switch {
	case l.tell != "":
		return l.tell
	case l.Ready:
		return l.resume
	case l.Status == snapshot.ApprovalRequested:
		return fault.CommandLine(arg.Program, "approve", l.RunID, l.NodeID)
	case l.Status == snapshot.HumanPending:
		return fault.CommandLine(arg.Program, "answer", l.RunID, l.NodeID)
	case l.Status == snapshot.WaitWaiting && l.Kind == snapshot.WaitSignal:
		return fault.CommandLine(arg.Program, signalArguments(l.RunID, l.Prompt, l.CorrelationID)...)
	}
	return ""
}
