package answer

import (
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func approveCommand() *arg.Command {
	return decides(mailbox.Approve, &arg.Command{
		Name:    "approve",
		Summary: "approve a step that waits for approval",
		About: `Approves a step of a run. Without a node, the run must have only one open approval. If a
process runs the run, that process continues it; otherwise type resume, or give --resume.

The first decision counts: a second one is refused, and the error shows the first. Prints
the run's id.`,
		Examples: []arg.Example{
			{"approve, and continue", "git smithers approve triage-1 --resume"},
			{"say why", `git smithers approve triage-1 deploy --note 'after the freeze'`},
		},
	})
}

func denyCommand() *arg.Command {
	return decides(mailbox.Deny, &arg.Command{
		Name:    "deny",
		Summary: "deny a step that waits for approval",
		About: `Denies a step of a run. The workflow defines the effect: the task fails, is skipped, or
finishes with "approved": false. Without a node, the run must have only one open approval.
Prints the run's id.`,
		Examples: []arg.Example{{"deny with a reason", `git smithers deny triage-1 deploy --note 'not on a Friday'`}},
	})
}

// decides makes a command of a description: it writes a letter about an approval.
func decides(verb mailbox.Verb, cmd *arg.Command) *arg.Command {
	cmd.Usage = []string{"<run> [<node> | --node ID] [--iteration I] [--note TEXT] [--by WHO] [--resume]"}
	cmd.MinArgs, cmd.MaxArgs = 1, 2
	cmd.Flags = append(arg.PlaceFlags(),
		&urfave.StringFlag{Name: "note", Usage: "store `TEXT` with the decision, for later tasks to read"}, arg.WhoFlag(), requests.ResumeFlag())
	return handsIn(cmd, func(_ *session.Session, c *urfave.Context) (letter, error) {
		l, err := parseLetter(c, verb)
		l.of.isRun, l.Note = true, c.String("note")
		return l, err
	})
}

func cancelRequestCommand() *arg.Command {
	return handsIn(&arg.Command{
		Name:    "cancel-request",
		Summary: "withdraw an open question of a run",
		Hidden:  true,
		Usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--by WHO]", "<request> [--by WHO]"},
		About:   arg.BecameFlag("answer --cancel"),
		MinArgs: 1, MaxArgs: 2,
		Flags:    append(arg.PlaceFlags(), arg.WhoFlag()),
		Examples: []arg.Example{{"withdraw a question", "git smithers answer triage-1 which-fix --cancel"}},
	}, func(_ *session.Session, c *urfave.Context) (letter, error) { return parseLetter(c, mailbox.Withdraw) })
}

func answerCommand() *arg.Command {
	return handsIn(&arg.Command{
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
		Examples: []arg.Example{
			{"answer at the terminal", "git smithers answer triage-1"},
			{"choose an answer", `git smithers answer triage-1 where 'one machine'`},
			{"answer with a text", `git smithers answer triage-1 which-fix --text 'the second one'`},
			{"fill in a form", `git smithers answer human:triage-1:estimate:0 --value '{"days":3,"risk":"low"}'`},
			{"withdraw a question", "git smithers answer triage-1 which-fix --cancel"},
		},
	}, parseAnswer)
}

// parseLetter reads what letters about approvals and questions have in common. Its errors are those of arg.ParsePlace.
func parseLetter(c *urfave.Context, verb mailbox.Verb) (letter, error) {
	place, err := arg.ParsePlace(c)
	return letter{
		Letter: mailbox.Letter{Verb: verb}, of: requestName{run: c.Args().First(), place: place}, by: arg.ParseWho(c), resume: c.Bool("resume"),
	}, err
}

// parseAnswer reads an answer from the command line. The error is usage if the command line has more than one answer.
// The other errors are those of arg.ParsePlace and arg.ReadValue.
func parseAnswer(s *session.Session, c *urfave.Context) (letter, error) {
	l, err := parseLetter(c, mailbox.Answer)
	if err != nil {
		return l, err
	}
	l.of.interrupt = c.String("interrupt")
	if c.Bool("cancel") {
		l.Verb = mailbox.Withdraw
	}
	var given []string
	for _, name := range []string{"value", "text", "yes", "no", "cancel"} {
		if c.IsSet(name) {
			given = append(given, "--"+name)
		}
	}
	if c.NArg() > 2 {
		l.words, given = new(c.Args().Get(2)), append(given, "an answer as the third argument")
	}
	if l.of.interrupt != "" && l.of.place != (mailbox.Place{}) {
		return l, fault.New(fault.Usage, "--interrupt already names the question").Hint("leave out the node and --iteration; --text or --value has the answer")
	}
	if len(given) > 1 {
		return l, fault.New(fault.Usage, "%s do not go together", display.List(given)).Hint("type only one of them")
	}
	switch {
	case c.IsSet("value"):
		l.Value, err = arg.ReadValue(c.Context, s, arg.Value{Name: "--value", Text: c.String("value"), Example: `--value '{"days":3}'`})
	case c.IsSet("text"):
		l.Value, err = term.EncodeValue(c.String("text"))
	case c.IsSet("yes"), c.IsSet("no"):
		l.Value = strconv.AppendBool(nil, c.Bool("yes") || c.IsSet("no") && !c.Bool("no"))
	}
	return l, err
}
