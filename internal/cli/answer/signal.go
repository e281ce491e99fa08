package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// signalFailure is the line that signal --batch prints for a signal that could not be sent.
type signalFailure struct {
	Kind  string                `json:"kind"`
	Error session.ErrorDocument `json:"error"`
}

func signalCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "signal",
		Summary: "send a signal to a run, or list its signals",
		Usage: []string{
			"<run> <name> [<payload>] [--correlation ID] [--by WHO] [--at TIME] [--resume]",
			"<run> --batch [--by WHO]",
			"--list <run> [<name>] [--correlation ID | --uncorrelated] [--after TIME] [--limit N]",
		},
		About: `Sends a signal to a run. A task that waits for a signal of that name receives it, now or
later. The payload is JSON, @FILE, or - for standard input; the default is {}. The payload
must fit the output schema of the waiting task; otherwise the signal is refused. If a
process runs the run, that process continues it; otherwise type resume, or give --resume. A run that failed or
was cancelled keeps the signal until it is resumed. If no task of the run waits for signals
of that name, a warning says so.

A signal also corrects a task while it works: within about a second, each running command of
the run gets the signal as a line of the file that SMITHERS_SIGNALS names.

The signals of a run are numbered from 0 in the order of their arrival. A signal with the
same name, correlation id, payload, time and sender as an earlier one is the same signal
and is not received twice: to make sure that a signal arrived, send it again with the same
--at. Prints the signal's number.

--batch reads one signal per line from standard input, as {"name","payload",
"correlationId","receivedAtMs","receivedBy"}; only the name is required. It answers each
signal with a line of JSON, in order, until the input ends.

--list lists the signals of a run in the order of their arrival: number, time, name,
correlation id, sender and payload. --list only reads the run, so a unique prefix of the
run's id is enough.`,
		MinArgs: 1, MaxArgs: 3,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "correlation", Aliases: []string{"c"}, Usage: "the correlation `ID` of the signal (default: none)"},
			&urfave.StringFlag{Name: "at", Usage: "the signal was sent at `TIME`: RFC 3339, milliseconds since 1970, or how long ago (default: now)"},
			arg.WhoFlag(),
			requests.ResumeFlag(),
			&urfave.BoolFlag{Name: "batch", Usage: "read one signal per line from standard input and answer each"},
			&urfave.BoolFlag{Name: "list", Usage: "list the signals of the run"},
		}, signalListFlags()...),
		Examples: []arg.Example{
			{"send the signal build to a run", `git smithers signal triage-1 build '{"ok":true}' --correlation main`},
			{"correct an agent while it works", `git smithers signal triage-1 steer '"leave the tests alone"'`},
			{"send each message of a queue once", `queue | git smithers signal triage-1 --batch --by queue`},
			{"list the signals of the last hour", "git smithers signal --list triage-1 --after 1h"},
			{"print the payloads of one build", "git smithers signal --list triage-1 build -c main --json | jq .payload"},
		},
	}
	handsIn(cmd, func(s *session.Session, c *urfave.Context) (letter, error) { return parseSignal(s, cmd, c) })
	send := cmd.Run
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		switch {
		case c.Bool("list"):
			return listSignals(ctx, s, cmd, c)
		case c.Bool("batch"):
			l, err := parseSignal(s, cmd, c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return signalBatch(ctx, s, store, l) })
		}
		return send(ctx, s, c)
	}
	return cmd
}

// signalLine is a signal as a line of --batch describes it. A nil member was left out.
type signalLine struct {
	Name          string          `json:"name"`
	Payload       json.RawMessage `json:"payload"`
	CorrelationID *string         `json:"correlationId"`
	ReceivedAtMs  *int64          `json:"receivedAtMs"`
	ReceivedBy    *string         `json:"receivedBy"`
}

// parseSignal reads a signal from the command line. With --batch, the letter has no name. The error is usage if the signal has no name, or if flags
// contradict each other.
func parseSignal(s *session.Session, cmd *arg.Command, c *urfave.Context) (l letter, err error) {
	for _, flag := range signalListFlags() {
		if name := arg.LongName(flag); c.IsSet(name) {
			return l, cmd.Misused("--%s needs --list", name)
		}
	}
	l = letter{of: requestName{run: c.Args().First(), isRun: true}, by: arg.ParseWho(c), resume: c.Bool("resume")}
	l.Verb, l.Value = mailbox.Send, json.RawMessage("{}")
	if c.Bool("batch") {
		if c.NArg() > 1 || c.IsSet("correlation") || c.IsSet("at") || l.resume {
			return l, cmd.Misused("--batch reads the signals from standard input and takes no other signal")
		}
		return l, nil
	}
	if c.NArg() < 2 {
		return l, cmd.Misused("signal needs the name of the signal")
	}
	l.Signal = c.Args().Get(1)
	if c.IsSet("correlation") {
		l.CorrelationID = new(c.String("correlation"))
	}
	if c.IsSet("at") {
		at, err := arg.ParseMoment(s.Now(), "at", c.String("at"))
		if err != nil {
			return l, err
		}
		l.at = time.UnixMilli(at)
	}
	if c.NArg() > 2 {
		l.Value, err = arg.ReadValue(c.Context, s, arg.Value{Name: "<payload>", Text: c.Args().Get(2), Example: `'{"ok":true}'`})
	}
	return l, err
}

// takesSignals returns an error if the run is of an engine whose runs wait for no signal.
func (to *recipient) takesSignals() error {
	if err := app.RefuseSession(to.head, "it waits for no signal"); err != nil {
		return err
	}
	return app.RefuseThread(to.head, "it waits for no signal")
}

// signalBatch reads signals from standard input, one on each line, and sends them to the run of unsaid. It skips empty
// lines. For each signal, it prints the JSON document of the sent signal, or of the error if the signal could not be
// sent; it then continues with the next line. It returns an error only if the run takes no signals, if ctx ends, or if reading or printing fails.
// What a line leaves out is that of unsaid.
func signalBatch(ctx context.Context, s *session.Session, store *timeline.Store, unsaid letter) error {
	head, _, err := unsaid.of.open(ctx, store)
	if err != nil {
		return err
	}
	to := newRecipient(s, store, head)
	if err := to.takesSignals(); err != nil {
		return err
	}
	unsaid.By = arg.Who(unsaid.by, store)
	to.warnForeign(fault.CommandLine("signal", head.Row().ID) + " NAME")
	for data, err := range term.LinesOf(s.In, term.MaxDocument) {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var got mailbox.Receipt
		l, err := parseSignalLine(data, unsaid)
		if err == nil {
			got, err = to.take(ctx, l)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = s.WriteJSON(to.document(got))
		} else {
			err = s.WriteJSON(signalFailure{"signal", session.DocumentOf(s.Describe(err))})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseSignalLine reads the signal in data, which is one line of the input of --batch. What the line leaves out is that of unsaid. The error is
// limit_exceeded if the line is too long, and invalid_input if the line is not the JSON object of a signal.
func parseSignalLine(data []byte, unsaid letter) (letter, error) {
	l := unsaid
	var line signalLine
	if len(data) > term.MaxDocument {
		return l, fault.New(fault.LimitExceeded, "a signal is longer than %d bytes", term.MaxDocument)
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	err := in.Decode(&line)
	if err == nil && len(bytes.TrimSpace(data[in.InputOffset():])) > 0 {
		err = errors.New("the line continues after the JSON object")
	}
	if err != nil {
		return l, fault.New(fault.InvalidInput, "the line is not a signal: %s", strings.TrimPrefix(err.Error(), "json: ")).
			Hint(`type each signal as an object, such as {"name":"build","payload":{"ok":true}}`)
	}
	l.Signal, l.CorrelationID = line.Name, line.CorrelationID
	if line.Payload != nil {
		l.Value = line.Payload
	}
	if line.ReceivedBy != nil {
		l.By = *line.ReceivedBy
	}
	if line.ReceivedAtMs != nil {
		l.at = time.UnixMilli(*line.ReceivedAtMs)
	}
	return l, nil
}
