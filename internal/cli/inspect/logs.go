package inspect

import (
	"context"
	"io"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/claim"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// logsOptions has the options of logs.
type logsOptions struct {
	address string
	attempt attemptQuery
	follow  bool
	raw     bool
	lines   lineRange
}

func logsCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "logs",
		Summary: "show the log of an attempt, even while it is running",
		Usage:   []string{"<run>[:<frame>] [<node>] [--iteration I] [--attempt A] [--tail N | --from LINE [--limit N]] [--follow] [--raw]"},
		About: `Prints what a task's command wrote to standard output and standard error, in the order of
writing. The default is the newest attempt of the task; without a node, the command of the
run that started last. If the attempt is running, logs prints the output so far; --follow
continues until the attempt ends. Without a node, --follow prints the logs of all tasks as
they run, each line after its task, until nobody executes the run any more: also of a run
that supervise or another terminal executes. --tail prints only the end of the log, and
--from begins at a line. Of a session, logs prints the conversation, and --follow continues until
the session has ended.

At a terminal, colours of the log stay, and nothing else that could control the terminal.
--raw prints the bytes as they are, to a file or a program.

The log of a running attempt is stored on the machine that runs it. When the attempt ends,
the last MiB of each stream becomes part of the run's history, without the text that became
the task's output: show prints the output.`,
		MinArgs: 1, MaxArgs: 2,
		Flags: []urfave.Flag{
			arg.IterationFlag(),
			&urfave.IntFlag{Name: "attempt", Aliases: []string{"a"}, Usage: "the attempt `A`, from 1 (default: the newest)"},
			&urfave.IntFlag{Name: "tail", Usage: "print only the last `N` lines"},
			&urfave.IntFlag{Name: "from", Usage: "print only the lines from `LINE` on; the first line of the log is 1"},
			arg.LimitFlag(0, "print at most `N` lines (default: all)"),
			&urfave.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print new lines until the attempt has ended; without a node, of all tasks until the run has"},
			&urfave.BoolFlag{Name: "raw", Usage: "print the bytes as they are; not to a terminal"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"watch all tasks of a run", "git smithers logs triage-1 --follow"},
			{"watch the task fix", "git smithers logs triage-1 fix --follow"},
			{"read the conversation of the newest session", "git smithers logs @session"},
			{"read why its first attempt failed", "git smithers logs triage-1 fix --attempt 1"},
			{"read how it ended", "git smithers logs triage-1 fix --tail 20"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts, err := parseLogs(cmd, c)
		if err != nil {
			return err
		}
		if opts.raw && (s.JSON || s.OutTTY) {
			return cmd.Misused("--raw prints what could control a terminal: send it to a file or a program, without --json")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runLogs(ctx, s, store, opts) })
	}
	return cmd
}

// parseLogs reads the options from the command line. The error is usage if --attempt or --iteration is invalid or given
// without a node.
func parseLogs(cmd *arg.Command, c *urfave.Context) (logsOptions, error) {
	opts := logsOptions{
		address: c.Args().First(), attempt: attemptQuery{node: c.Args().Get(1), attempt: c.Int("attempt")}, follow: c.Bool("follow"), raw: c.Bool("raw"),
	}
	var err error
	if opts.lines, err = parseLineRange(cmd, c); err != nil {
		return opts, err
	}
	if opts.attempt.iteration, err = arg.ParseIteration(c); err != nil {
		return opts, err
	}
	if c.IsSet("attempt") && opts.attempt.attempt < 1 {
		return opts, fault.New(fault.Usage, "--attempt cannot be %d", opts.attempt.attempt).Hint("use a number from 1")
	}
	if opts.attempt.node == "" && (c.IsSet("attempt") || c.IsSet("iteration")) {
		return opts, cmd.Misused("--attempt and --iteration need a node")
	}
	return opts, nil
}

// runLogs prints the log of the attempt that opts names. With --follow, it prints the log as it grows. Otherwise it
// prints the log up to now. If there is no log, it notes the state of the attempt; with --json, the member log of the
// document is then null.
func runLogs(ctx context.Context, s *session.Session, store *timeline.Store, opts logsOptions) error {
	at, err := store.Load(ctx, opts.address)
	if err != nil {
		return err
	}
	log := attemptLog{store: store, run: at.Address.Run, entry: at.Entry}
	if at.Bare {
		if log.head, err = store.HeadOf(at); err != nil {
			return err
		}
	}
	if opts.attempt.node == "" {
		talk, err := at.Entry.HasExt(agent.EngineName)
		if err != nil {
			return timeline.Explain(err)
		}
		if talk && opts.follow && log.head != nil {
			return followConversation(ctx, s, log.head, opts)
		}
		if talk {
			return printConversation(ctx, s, at, opts)
		}
		// Nobody knows when an engine that does not claim its run stops.
		if opts.follow && log.head != nil && log.head.Row().Status == snapshot.RunRunning && log.head.Row().Epoch > 0 {
			return followRun(ctx, s, store, log.head, opts)
		}
	}
	opts.attempt.running = opts.follow
	if log.row, err = opts.attempt.find(log.run, log.entry); err != nil {
		return err
	}
	if opts.follow {
		return followLog(ctx, s, &log, opts)
	}
	text, known, err := log.text(ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		var shown *string     // null if no log is known
		var total, first *int // the lines of the whole log; the number of the first line that is shown, from 1
		if known {
			part, from, lines := opts.lines.of(text)
			shown, total = &part, &lines
			if part != "" {
				first = &from
			}
		}
		return s.WriteJSON(term.Document("log", term.Member("runId", log.run), term.Member("attempt", log.row), term.Member("log", shown),
			term.Member("lines", total), term.Member("from", first)))
	}
	if text == "" {
		s.Note("%s: no log", log.describe())
		return nil
	}
	if opts.raw && opts.lines == (lineRange{}) {
		_, err := io.WriteString(s.Out, text)
		return err
	}
	text, from, total := opts.lines.of(text)
	if text == "" {
		s.Note("the log has %s", plain.Count(total, "line"))
		return nil
	}
	if before := from - 1; before > 0 {
		s.Note("… %s before", plain.Count(before, "line"))
	}
	if opts.raw {
		_, err := io.WriteString(s.Out, text)
		return err
	}
	painter := s.Painter(ctx)
	return s.Paged(ctx, func() error { return s.Printf("%s\n", strings.Join(painter.Lines(text), "\n")) })
}

// An attemptLog is an attempt and the entry that has its log.
type attemptLog struct {
	store *timeline.Store
	run   string
	head  *timeline.Head // the run's tip, from which refresh reads; nil: only entry is read
	entry *snapshot.Entry
	row   snapshot.Attempt
}

// key returns the key of the attempt.
func (l *attemptLog) key() string {
	return snapshot.AttemptKey(l.row.NodeID, l.row.Iteration, l.row.Attempt)
}

// describe returns one line about the attempt: its key in words, its state, its duration if it has ended, and its error
// if it has one.
func (l *attemptLog) describe() string {
	text := display.AttemptKey(l.key()) + ": " + l.row.State
	if l.row.FinishedAtMs != nil {
		text += " after " + display.Duration(time.Duration(*l.row.FinishedAtMs-l.row.StartedAtMs)*time.Millisecond)
	}
	if l.row.Error != "" {
		text += ": " + l.row.Error
	}
	return plain.Text(text)
}

// ended reports whether the attempt has ended. An attempt that waits has not ended.
func (l *attemptLog) ended() bool {
	return l.row.State != snapshot.AttemptInProgress && !snapshot.NodeState(l.row.State).Waiting()
}

// refresh moves l to the new tip of the run, if there is one, and reads the row of the attempt again. If the new tip
// does not have the attempt, refresh leaves l unchanged. l.head must not be nil.
func (l *attemptLog) refresh(ctx context.Context) error {
	if err := l.head.Refresh(ctx); err != nil || l.head.Entry() == l.entry {
		return err
	}
	entry := l.head.Entry()
	attempts, err := entry.Attempts()
	if err != nil {
		return err
	}
	value, ok, err := attempts.Get(l.key())
	if err != nil || !ok {
		return err
	}
	l.entry = entry
	l.row, err = snapshot.DecodeAttempt(page.Row{Key: l.key(), Value: value})
	return err
}

// text returns the log of the attempt up to now. This is the live log if the attempt is running and has one, and
// otherwise the stored log. known is false if the attempt has neither ended nor written a log.
func (l *attemptLog) text(ctx context.Context) (text string, known bool, err error) {
	if !l.ended() && l.head != nil {
		if text := claim.LiveLogsOf(l.store, l.run).Last(l.key()); text != "" {
			return text, true, nil
		}
		// The attempt may have ended since its row was read.
		if err := l.refresh(ctx); err != nil {
			return "", false, err
		}
	}
	return l.stored()
}

// stored returns the log of the attempt in the journal of l.entry, or "" if the journal has no such log. known is true
// if the journal has the log, or if the attempt has ended: an ended attempt without a log in the journal wrote no log.
func (l *attemptLog) stored() (text string, known bool, err error) {
	logs, err := l.entry.Logs()
	if err != nil {
		return "", false, err
	}
	value, ok, err := logs.Get(l.key())
	if err != nil || !ok {
		return "", l.ended(), err
	}
	text, err = snapshot.DecodeLog(page.Row{Key: l.key(), Value: value})
	return text, true, err
}
