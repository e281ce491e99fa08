package answer

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/mail"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// answerOptions has the options of answer.
type answerOptions struct {
	of     requestName     // the request to answer
	value  json.RawMessage // the answer as JSON; nil: use words
	words  *string         // the answer as a person types it at a terminal; nil: ask for it
	cancel bool            // cancel the request
	by     *string         // nil: git's user.name
	resume bool
}

// requestDocument is the document of answer --json. RequestKind is the kind of the request.
type requestDocument struct {
	Kind        string `json:"kind"`
	RunID       string `json:"runId"`
	RequestID   string `json:"requestId"`
	RequestKind string `json:"requestKind"`
	snapshot.HumanRequest
	Running  bool    `json:"running"`  // a live process executes the run, and continues the run without a command
	Worktree *string `json:"worktree"` // see app.OwnWorktree
}

func answerCommand() *arg.Command {
	return &arg.Command{
		Name:    "answer",
		Summary: "answer a question of a run, or withdraw it",
		Usage: []string{
			"<run> <node> <answer> [--iteration I] [--by WHO]",
			"<run> [<node> | --node ID] [--value JSON | --text TEXT | --yes | --no | --cancel] [--iteration I] [--by WHO]",
			"<request> [--value JSON | --text TEXT | --yes | --no | --cancel] [--by WHO]",
			"<thread> --interrupt ID [--value JSON | --text TEXT | --yes | --no | --cancel] [--by WHO]",
		},
		About: `Answers a question that a run asks. Without a node, the run must have only one open
question. A request's id, as printed by inbox, stands for run, node and iteration. Without
an answer on the command line, answer shows the question and asks for the answer at the
terminal. The third argument is read like an answer typed at the terminal: a text, y or n,
a number, or a choice or its number.

The answer must fit the form in the workflow; otherwise the command fails and nothing
changes. If a process runs the run, that process continues it; otherwise type resume, or give
--resume.
--cancel withdraws the question: the waiting attempt fails with code request_cancelled.
Prints the run's id.`,
		MinArgs: 1, MaxArgs: 3,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "value", Usage: "the answer: `JSON`, @FILE, or - for standard input"},
			&urfave.StringFlag{Name: "text", Usage: "answer with the text `TEXT`"},
			&urfave.BoolFlag{Name: "yes", Usage: "answer yes (true)"},
			&urfave.BoolFlag{Name: "no", Usage: "answer no (false)"},
			&urfave.BoolFlag{Name: "cancel", Usage: "withdraw the question"},
			&urfave.StringFlag{Name: "interrupt", Usage: "the question is the interrupt `ID` of a LangGraph thread"},
			arg.WhoFlag(),
			requests.ResumeFlag(),
		}, arg.PlaceFlags()...),
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"answer at the terminal", "git smithers answer triage-1"},
			{"choose an answer", `git smithers answer triage-1 where 'one machine'`},
			{"answer with a text", `git smithers answer triage-1 which-fix --text 'the second one'`},
			{"fill in a form", `git smithers answer human:triage-1:estimate:0 --value '{"days":3,"risk":"low"}'`},
			{"withdraw a question", "git smithers answer triage-1 which-fix --cancel"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts, err := parseAnswer(s, c)
			if err != nil {
				return err
			}
			return withStore(ctx, s, opts.resume, func(store *timeline.Store) error { return runAnswer(ctx, s, store, opts) })
		},
	}
}

// parseAnswer reads the options from the command line. The error is usage if the command line has more than one answer.
// The other errors are those of arg.ParsePlace and arg.ReadValue.
func parseAnswer(s *session.Session, c *urfave.Context) (answerOptions, error) {
	place, err := arg.ParsePlace(c)
	opts := answerOptions{of: requestName{c.Args().First(), place, c.String("interrupt")}, cancel: c.Bool("cancel"), by: arg.ParseWho(c), resume: c.Bool("resume")}
	if err != nil {
		return opts, err
	}
	var given []string
	for _, name := range []string{"value", "text", "yes", "no", "cancel"} {
		if c.IsSet(name) {
			given = append(given, "--"+name)
		}
	}
	if c.NArg() > 2 {
		opts.words, given = new(c.Args().Get(2)), append(given, "an answer as the third argument")
	}
	if opts.of.interrupt != "" && place != (mailbox.Place{}) {
		return opts, fault.New(fault.Usage, "--interrupt already names the question").Hint("leave out the node and --iteration; --text or --value has the answer")
	}
	if len(given) > 1 {
		return opts, fault.New(fault.Usage, "%s do not go together", display.List(given)).Hint("type only one of them")
	}
	switch {
	case c.IsSet("value"):
		opts.value, err = arg.ReadValue(c.Context, s, arg.Value{Name: "--value", Text: c.String("value"), Example: `--value '{"days":3}'`})
	case c.IsSet("text"):
		opts.value, err = term.EncodeValue(c.String("text"))
	case c.IsSet("yes"), c.IsSet("no"):
		opts.value = strconv.AppendBool(nil, c.Bool("yes") || c.IsSet("no") && !c.Bool("no"))
	}
	return opts, err
}

// runAnswer answers the human request that opts.of names, and prints the answered request. If opts.cancel is true, it
// cancels the request instead.
//
// The answer is opts.value. If opts.value is nil, the answer is opts.words, converted as the request's form demands. If
// both are nil, runAnswer asks the person at the terminal.
func runAnswer(ctx context.Context, s *session.Session, store *timeline.Store, opts answerOptions) error {
	if opts.cancel {
		return runCancelRequest(ctx, s, store, opts.of, opts.by, opts.resume)
	}
	head, place, err := opts.of.open(ctx, store)
	if err != nil {
		return err
	}
	if opts.value == nil { // the form of the request is needed to convert typed text to a value
		request, err := mailbox.Request(head, place, s.Now())
		if err != nil {
			return err
		}
		place = mailbox.Place{Node: request.NodeID, Iteration: &request.Iteration}
		if opts.words != nil {
			opts.value, err = readAnswer(request, *opts.words)
		} else {
			opts.value, err = askForAnswer(s, head.Row().ID, request)
		}
		if err != nil {
			return err
		}
	}
	answered, err := mailbox.Answer(ctx, head, mailbox.Response{Place: place, Value: opts.value, By: arg.Who(opts.by, store)}, s.Now())
	if err != nil {
		return err
	}
	return printRequest(ctx, s, store, head, answered, opts.resume)
}

// printRequest prints the human request h, which was answered or cancelled. With --json, it prints h as a document.
// Otherwise it prints the run's id, and notes the new status of h.
//
// If another engine runs the run, printRequest warns that this engine was not told. If no other engine runs the run,
// and without --json, it also notes which process or command continues the run.
func printRequest(ctx context.Context, s *session.Session, store *timeline.Store, head *timeline.Head, h snapshot.HumanRequest, resume bool) error {
	row := head.Row()
	running := store.Owner(row).Live
	foreign := warnForeign(s, head, mail.ForeignAnswer(row.ID, h))
	var err error
	if s.JSON {
		err = s.WriteJSON(requestDocument{"human-request", row.ID, h.RequestID(row.ID), h.Kind, h, running, ownWorktree(s, store, head)})
	}
	s.Note("%s: %s (%s)", h.Status, plain.Text(h.Prompt), plain.Text(display.AttemptName(h.NodeID, h.Iteration)))
	resumed, failed := goOn(ctx, s, store, head, foreign, resume)
	if err = errors.Join(err, failed); resumed || s.JSON || err != nil {
		return err
	}
	return s.Printf("%s\n", plain.Text(row.ID))
}
