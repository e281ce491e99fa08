package answer

import (
	"context"
	"encoding/json"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

func signalsCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "signals",
		Summary: "list the signals of a run",
		Hidden:  true,
		Usage:   []string{"<run> [--name N] [--correlation ID | --uncorrelated] [--after TIME] [--limit N]"},
		About:   arg.BecameFlag("signal --list"),
		MinArgs: 1, MaxArgs: 1,
		Flags: append(signalListFlags(),
			&urfave.StringFlag{Name: "correlation", Aliases: []string{"c"}, Usage: "list only signals with the correlation `ID`"}),
		Exits:    arg.Reads(),
		Examples: []arg.Example{{"list the signals of the last hour", "git smithers signal --list triage-1 --after 1h"}},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		query, err := parseSignals(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runSignals(ctx, s, store, query) })
	}
	return cmd
}

// signalListFlags returns the flags of signal --list that select signals.
func signalListFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "name", Aliases: []string{"n"}, Usage: "list only signals called `N`"},
		&urfave.BoolFlag{Name: "uncorrelated", Usage: "list only signals without a correlation id"},
		&urfave.StringFlag{Name: "after", Usage: "list only signals received at `TIME` or later: RFC 3339, milliseconds since 1970, or how long ago"},
		arg.LimitFlag(sqliteindex.DefaultSignalLimit, "list at most `N` signals (default: 200)"),
	}
}

// listSignals runs signal --list: it reads the query from the command line, and prints the signals with runSignals. The
// error is usage if the command line has flags or arguments that only make sense for sending a signal.
func listSignals(ctx context.Context, s *session.Session, cmd *arg.Command, c *urfave.Context) error {
	for _, flag := range []string{"batch", "at", "by"} {
		if c.IsSet(flag) {
			return cmd.Misused("--%s does not go with --list", flag)
		}
	}
	query, err := parseSignals(s, cmd, c)
	switch {
	case err != nil:
		return err
	case c.NArg() > 2:
		return cmd.Misused("--list takes no payload, got %q", c.Args().Get(2))
	case c.NArg() > 1 && c.IsSet("name"):
		return cmd.Misused("the signal has two names: the argument %q and --name %q", c.Args().Get(1), query.Name)
	case c.NArg() > 1:
		query.Name = c.Args().Get(1)
	}
	return s.WithStore(ctx, func(store *timeline.Store) error { return runSignals(ctx, s, store, query) })
}

// parseSignals returns the query for signals that the flags of signalListFlags and --correlation describe. query.RunID
// is the first argument, exactly as the user typed it. With --uncorrelated, the query selects only signals without a
// correlation id. The error is usage if flags contradict each other, or if a value is invalid.
func parseSignals(s *session.Session, cmd *arg.Command, c *urfave.Context) (sqliteindex.SignalQuery, error) {
	// Correlated without a CorrelationID selects the signals that have no correlation id.
	query := sqliteindex.SignalQuery{RunID: c.Args().First(), Name: c.String("name"), Correlated: c.Bool("uncorrelated")}
	if c.IsSet("correlation") {
		if query.Correlated {
			return query, cmd.Misused("--correlation and --uncorrelated do not go together")
		}
		query.Correlated, query.CorrelationID = true, new(c.String("correlation"))
	}
	if c.IsSet("after") {
		after, err := arg.ParseMoment(s.Now(), "after", c.String("after"))
		if err != nil {
			return query, err
		}
		query.AfterMs = &after
	}
	var err error
	query.Limit, err = arg.ParseLimit(c)
	return query, err
}

// runSignals prints the signals that query selects, one per line. query.RunID may be a unique prefix of a run's id. At
// a terminal, runSignals notes if no signal matches.
func runSignals(ctx context.Context, s *session.Session, store *timeline.Store, query sqliteindex.SignalQuery) error {
	id, err := store.ResolveRun(ctx, query.RunID)
	if err != nil {
		return err
	}
	query.RunID = id
	index, err := store.Details(ctx, id)
	if err != nil {
		return err
	}
	list, err := index.Signals(ctx, query)
	if err != nil {
		return err
	}
	if s.JSON {
		return writeSignals(s, list)
	}
	if len(list) == 0 && s.OutTTY {
		s.Note("run %s has no matching signals", id)
	}
	t := term.Table{Header: []string{"SEQ", "TIME", "NAME", "CORRELATION", "BY", "PAYLOAD"}}
	for _, signal := range list {
		payload := signal.Payload
		if s.IsTerminalOut() {
			payload = plain.Shorten(payload, display.ValueShown)
		}
		t.Add(
			term.Cell{Text: strconv.FormatInt(signal.Seq, 10)}, term.Cell{Text: display.ClockTime(signal.ReceivedAtMs)}, term.Cell{Text: signal.Name},
			term.Cell{Text: display.OrEmpty(signal.CorrelationID)}, term.Cell{Text: display.OrEmpty(signal.ReceivedBy)}, term.Cell{Text: payload},
		)
	}
	return t.Write(s.Terminal)
}

// writeSignals prints a JSON document for each signal in list.
func writeSignals(s *session.Session, list []sqliteindex.SignalRow) error {
	for _, row := range list {
		signal := snapshot.Signal{
			Seq: row.Seq, Name: row.Name, CorrelationID: row.CorrelationID, Payload: json.RawMessage(row.Payload),
			ReceivedAtMs: row.ReceivedAtMs, ReceivedBy: row.ReceivedBy,
		}
		if err := s.WriteJSON(signalDocument{Kind: "signal", RunID: row.RunID, Signal: signal}); err != nil {
			return err
		}
	}
	return nil
}
