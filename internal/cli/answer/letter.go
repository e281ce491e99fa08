package answer

import (
	"context"
	"errors"
	"strconv"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// A letter is what a command line tells a run.
type letter struct {
	mailbox.Letter // without Place and By

	of     requestName
	by     *string   // nil: git's user.name
	at     time.Time // when a signal was sent; zero: now
	words  *string   // an answer as a person types it at a terminal; nil, and without a value: ask for it
	resume bool      // then go on with the run
}

// handsIn makes a command of a description and of the function that reads the letter from a command line. The command hands the letter to its run
// and prints what becomes of it.
func handsIn(cmd *arg.Command, parse func(*session.Session, *urfave.Context) (letter, error)) *arg.Command {
	cmd.Changes, cmd.Exits = true, arg.Writes()
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		l, err := parse(s, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return l.handIn(ctx, s, store) })
	}
	return cmd
}

// handIn hands the letter to its run, and prints the receipt. If an answer has no value, it reads l.words as the request's form demands or, without
// words, asks the person at the terminal.
func (l letter) handIn(ctx context.Context, s *session.Session, store *timeline.Store) error {
	head, place, err := l.of.open(ctx, store)
	if err != nil {
		return err
	}
	to := newRecipient(s, store, head)
	l.Place, l.By = place, arg.Who(l.by, store)
	if l.Verb == mailbox.Answer && l.Value == nil {
		if err := l.fillIn(to); err != nil {
			return err
		}
	}
	if l.Verb == mailbox.Send {
		if err := to.takesSignals(); err != nil {
			return err
		}
	}
	got, err := to.take(ctx, l)
	if err != nil {
		return err
	}
	return to.tell(ctx, got, l.resume)
}

// fillIn sets the value of an answer that the command line has in words, or that the person at the terminal gives.
func (l *letter) fillIn(to *recipient) error {
	request, err := mailbox.Request(to.head, l.Place, to.Now())
	if err != nil {
		return err
	}
	l.Place = mailbox.Place{Node: request.NodeID, Iteration: &request.Iteration}
	if l.words != nil {
		l.Value, err = readAnswer(request, *l.words)
	} else {
		l.Value, err = askForAnswer(to.Session, to.head.Row().ID, request)
	}
	return err
}

// A recipient is a run to which a command hands letters.
type recipient struct {
	*session.Session

	store  *timeline.Store
	head   *timeline.Head
	intake *mailbox.Intake
}

func newRecipient(s *session.Session, store *timeline.Store, head *timeline.Head) *recipient {
	return &recipient{s, store, head, mailbox.NewIntake(head)}
}

// take hands a letter to the run. If no task of the run waits for signals of its name, take warns.
func (to *recipient) take(ctx context.Context, l letter) (mailbox.Receipt, error) {
	if l.at.IsZero() {
		l.at = to.Now()
	}
	got, err := to.intake.Take(ctx, l.Letter, l.at)
	if err == nil && got.Signal != nil {
		to.warnUnknownSignal(got.Signal.Name)
	}
	return got, err
}

// tell prints a receipt: with --json a document, and otherwise the run's id, or the number of a signal. Without --json, it also notes what has
// become of the request, and what the run still waits for or which process or command continues it. With resume, tell continues the run, as
// resume does. If another engine runs the run, tell warns that this engine was not told.
func (to *recipient) tell(ctx context.Context, got mailbox.Receipt, resume bool) error {
	row := to.head.Row()
	foreign := to.warnForeign(mail.Foreign(row.ID, got))
	var err error
	if to.JSON {
		err = to.WriteJSON(to.document(got))
	}
	printed, goesOn := row.ID, true
	switch {
	case got.Approval != nil:
		to.noteSettled(got.Approval.Status, got.Approval.Title, got.Approval.NodeID, got.Approval.Iteration)
	case got.Request != nil:
		to.noteSettled(got.Request.Status, got.Request.Prompt, got.Request.NodeID, got.Request.Iteration)
	default:
		printed = strconv.FormatInt(got.Signal.Seq, 10)
		if got.Known {
			to.Note("run %s has already received this signal", plain.Text(row.ID))
		}
		goesOn = !got.Known && !foreign && !to.noteWaitsOn()
	}
	if goesOn {
		resumed, failed := to.goOn(ctx, foreign, resume)
		if err = errors.Join(err, failed); resumed {
			return err
		}
	}
	if to.JSON || err != nil {
		return err
	}
	return to.Printf("%s\n", plain.Text(printed))
}

// noteSettled notes the new status of an approval or a request.
func (to *recipient) noteSettled(status, what, node string, iteration int) {
	to.Note("%s: %s (%s)", status, plain.Text(what), plain.Text(display.AttemptName(node, iteration)))
}

// settledRun is what documents about a settled approval or request say of the run.
type settledRun struct {
	Running  bool    `json:"running"`  // a live process executes the run, and continues the run without a command
	Worktree *string `json:"worktree"` // see app.OwnWorktree
}

// approvalDocument is the document of approve --json and deny --json.
type approvalDocument struct {
	Kind  string `json:"kind"`
	RunID string `json:"runId"`
	snapshot.Approval
	settledRun
}

// requestDocument is the document of answer --json. RequestKind is the kind of the request.
type requestDocument struct {
	Kind        string `json:"kind"`
	RunID       string `json:"runId"`
	RequestID   string `json:"requestId"`
	RequestKind string `json:"requestKind"`
	snapshot.HumanRequest
	settledRun
}

// signalDocument is the document of signal --json, and one line of signal --list --json.
type signalDocument struct {
	Kind  string `json:"kind"`
	RunID string `json:"runId"`
	snapshot.Signal
	Known *bool `json:"known,omitempty"` // the run had already received the signal; nil with --list
	// RunStatus is the status of a run that has ended and keeps the signal until it is resumed; "" otherwise.
	RunStatus string `json:"runStatus,omitempty"`
}

// document returns the document of a receipt.
func (to *recipient) document(got mailbox.Receipt) any {
	row := to.head.Row()
	if got.Signal != nil {
		doc := signalDocument{Kind: "signal", RunID: row.ID, Signal: *got.Signal, Known: &got.Known}
		if row.Status.Ended() {
			doc.RunStatus = string(row.Status)
		}
		return doc
	}
	own, err := app.OwnWorktree(to.store, to.head)
	if err != nil {
		to.Warn(err) // the answer is stored
	}
	run := settledRun{to.store.Owner(row).Live, own}
	if got.Approval != nil {
		return approvalDocument{"approval", row.ID, *got.Approval, run}
	}
	return requestDocument{"human-request", row.ID, got.Request.RequestID(row.ID), got.Request.Kind, *got.Request, run}
}
