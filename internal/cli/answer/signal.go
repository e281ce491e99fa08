package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
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

// signalDocument is the document of signal --json, and one line of signal --list --json.
type signalDocument struct {
	Kind  string `json:"kind"`
	RunID string `json:"runId"`
	snapshot.Signal
	Known *bool `json:"known,omitempty"` // the run had already received the signal; nil with --list
	// RunStatus is the status of a run that has ended and keeps the signal until it is resumed; "" otherwise.
	RunStatus string `json:"runStatus,omitempty"`
}

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
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"send the signal build to a run", `git smithers signal triage-1 build '{"ok":true}' --correlation main`},
			{"send each message of a queue once", `queue | git smithers signal triage-1 --batch --by queue`},
			{"list the signals of the last hour", "git smithers signal --list triage-1 --after 1h"},
			{"print the payloads of one build", "git smithers signal --list triage-1 build -c main --json | jq .payload"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if c.Bool("list") {
			return listSignals(ctx, s, cmd, c)
		}
		opts, err := parseSignal(s, cmd, c)
		if err != nil {
			return err
		}
		return withStore(ctx, s, opts.resume, func(store *timeline.Store) error { return runSignal(ctx, s, store, opts) })
	}
	return cmd
}

// signalOptions has the options of signal.
type signalOptions struct {
	run   string
	line  signalLine // the signal to send; with --batch, the values that lines leave out
	batch bool
	// resume goes on with the run if the signal was all that it waited for.
	resume bool
}

// signalLine is a signal as the command line, or a line of --batch, describes it. A nil member was left out.
type signalLine struct {
	Name          string          `json:"name"`
	Payload       json.RawMessage `json:"payload"`
	CorrelationID *string         `json:"correlationId"`
	ReceivedAtMs  *int64          `json:"receivedAtMs"`
	ReceivedBy    *string         `json:"receivedBy"`
}

// parseSignal reads the options from the command line. The error is usage if the signal has no name, or if flags
// contradict each other.
func parseSignal(s *session.Session, cmd *arg.Command, c *urfave.Context) (opts signalOptions, err error) {
	for _, flag := range signalListFlags() {
		if name := arg.LongName(flag); c.IsSet(name) {
			return opts, cmd.Misused("--%s needs --list", name)
		}
	}
	opts = signalOptions{run: c.Args().First(), batch: c.Bool("batch"), resume: c.Bool("resume"), line: signalLine{ReceivedBy: arg.ParseWho(c)}}
	if opts.batch {
		if c.NArg() > 1 || c.IsSet("correlation") || c.IsSet("at") || opts.resume {
			return opts, cmd.Misused("--batch reads the signals from standard input and takes no other signal")
		}
		return opts, nil
	}
	if c.NArg() < 2 {
		return opts, cmd.Misused("signal needs the name of the signal")
	}
	opts.line.Name = c.Args().Get(1)
	if c.IsSet("correlation") {
		opts.line.CorrelationID = new(c.String("correlation"))
	}
	if c.IsSet("at") {
		at, err := arg.ParseMoment(s.Now(), "at", c.String("at"))
		if err != nil {
			return opts, err
		}
		opts.line.ReceivedAtMs = &at
	}
	if c.NArg() > 2 {
		opts.line.Payload, err = arg.ReadValue(c.Context, s, arg.Value{Name: "<payload>", Text: c.Args().Get(2), Example: `'{"ok":true}'`})
	}
	return opts, err
}

// runSignal sends one signal or, with --batch, a signal for each line of standard input.
//
// For one signal, runSignal prints the signal's number. It also notes what the run still waits for, or how the run
// continues, or that the run had already received the signal. With --json, it prints a document and no notes. With
// --batch, it prints a document for each line.
func runSignal(ctx context.Context, s *session.Session, store *timeline.Store, opts signalOptions) error {
	head, err := app.OpenRun(ctx, store, opts.run)
	if err != nil {
		return err
	}
	if err := app.RefuseSession(head, "it waits for no signal"); err != nil {
		return err
	}
	if err := app.RefuseThread(head, "it waits for no signal"); err != nil {
		return err
	}
	opts.line.ReceivedBy = new(arg.Who(opts.line.ReceivedBy, store))
	to := &signalSender{head: head, sender: mailbox.NewSender(head)}
	if opts.batch {
		warnForeign(s, head, fault.CommandLine("signal", head.Row().ID)+" NAME")
		return signalBatch(ctx, s, to, opts.line)
	}
	sent, err := send(ctx, s, to, opts.line)
	if err != nil {
		return err
	}
	row := head.Row()
	foreign := warnForeign(s, head, mail.ForeignSignal(row.ID, sent.Signal))
	if s.JSON {
		err = s.WriteJSON(sent)
	}
	switch {
	case *sent.Known:
		s.Note("run %s has already received this signal", plain.Text(row.ID))
	case !foreign && !noteWaitsOn(s, to): // noteWaitsOn has noted nothing, so the run continues
		resumed, failed := goOn(ctx, s, store, head, foreign, opts.resume)
		if err = errors.Join(err, failed); resumed {
			return err
		}
	}
	if s.JSON || err != nil {
		return err
	}
	return s.Printf("%d\n", sent.Seq)
}

// signalSender sends signals to the run of head.
type signalSender struct {
	head   *timeline.Head
	sender *mailbox.Sender
}

// send sends the signal that line describes to the run of to, and returns the JSON document of the sent signal. If line
// has no payload, the payload is {}. If line has no time, the time is now. If the sender in line is "", the signal has
// no sender. If no task of the run waits for signals of this name, send warns.
func send(ctx context.Context, s *session.Session, to *signalSender, line signalLine) (*signalDocument, error) {
	signal := snapshot.Signal{
		Name: line.Name, CorrelationID: line.CorrelationID, Payload: line.Payload,
		ReceivedAtMs: s.Now().UnixMilli(), ReceivedBy: line.ReceivedBy,
	}
	if signal.Payload == nil {
		signal.Payload = json.RawMessage("{}")
	}
	if line.ReceivedAtMs != nil {
		signal.ReceivedAtMs = *line.ReceivedAtMs
	}
	if line.ReceivedBy != nil && *line.ReceivedBy == "" {
		signal.ReceivedBy = nil
	}
	sent, known, err := to.sender.Send(ctx, signal)
	if err != nil {
		return nil, err
	}
	warnUnknownSignal(s, to, sent.Name)
	row := to.head.Row()
	doc := &signalDocument{Kind: "signal", RunID: row.ID, Signal: sent, Known: &known}
	if row.Status.Ended() {
		doc.RunStatus = string(row.Status)
	}
	return doc, nil
}

// signalBatch reads signals from standard input, one on each line, and sends them to the run of to. It skips empty
// lines. For each signal, it prints the JSON document of the sent signal, or of the error if the signal could not be
// sent; it then continues with the next line. It returns an error only if ctx ends, or if reading or printing fails. If
// a line names no sender, the sender is unsaid.ReceivedBy.
func signalBatch(ctx context.Context, s *session.Session, to *signalSender, unsaid signalLine) error {
	for data, err := range term.LinesOf(s.In, term.MaxDocument) {
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		var sent *signalDocument
		line, err := parseSignalLine(data, unsaid)
		if err == nil {
			sent, err = send(ctx, s, to, line)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			err = s.WriteJSON(sent)
		} else {
			err = s.WriteJSON(signalFailure{"signal", session.DocumentOf(s.Describe(err))})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseSignalLine reads the signal in data, which is one line of the input of --batch. If the line names no sender, the
// sender is unsaid.ReceivedBy. The error is limit_exceeded if the line is too long, and invalid_input if the line is
// not the JSON object of a signal.
func parseSignalLine(data []byte, unsaid signalLine) (signalLine, error) {
	var line signalLine
	if len(data) > term.MaxDocument {
		return line, fault.New(fault.LimitExceeded, "a signal is longer than %d bytes", term.MaxDocument)
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	err := in.Decode(&line)
	if err == nil && len(bytes.TrimSpace(data[in.InputOffset():])) > 0 {
		err = errors.New("the line continues after the JSON object")
	}
	if err != nil {
		return line, fault.New(fault.InvalidInput, "the line is not a signal: %s", strings.TrimPrefix(err.Error(), "json: ")).
			Hint(`type each signal as an object, such as {"name":"build","payload":{"ok":true}}`)
	}
	if line.ReceivedBy == nil {
		line.ReceivedBy = unsaid.ReceivedBy
	}
	return line, nil
}
