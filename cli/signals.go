package cli

import (
	"context"
	"encoding/json"
	"strconv"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func signalsCommand() *command {
	cmd := &command{
		name:    "signals",
		summary: "list the signals that a run has received",
		hidden:  true,
		usage:   []string{"<run> [--name N] [--correlation ID | --uncorrelated] [--after TIME] [--limit N]"},
		about:   becameFlag("signal --list"),
		minArgs: 1, maxArgs: 1,
		flags: append(signalListFlags(),
			&urfave.StringFlag{Name: "correlation", Aliases: []string{"c"}, Usage: "only those with the correlation `ID`"}),
		exits:    reads(),
		examples: []example{{"list what came in the last hour", "git smithers signal --list triage-1 --after 1h"}},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		query, err := parseSignals(s, cmd, c)
		if err != nil {
			return err
		}
		return s.withStore(ctx, func(store *timeline.Store) error { return runSignals(ctx, s, store, query) })
	}
	return cmd
}

// signalListFlags are the flags about which signals are listed.
func signalListFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "name", Aliases: []string{"n"}, Usage: "list only those called `N`"},
		&urfave.BoolFlag{Name: "uncorrelated", Usage: "list only those without a correlation id"},
		&urfave.StringFlag{Name: "after", Usage: "list only those received after `TIME`: RFC 3339, milliseconds since 1970, or how long ago"},
		limitFlag(sqliteindex.DefaultSignalLimit, "list at most `N`; without it, 200"),
	}
}

// limitFlag is --limit of the commands that list.
func limitFlag(preset int, usage string) urfave.Flag {
	return &urfave.IntFlag{Name: "limit", Value: preset, Usage: usage}
}

func parseLimit(c *urfave.Context) (int, error) {
	n := c.Int("limit")
	if c.IsSet("limit") && n < 1 {
		return 0, fault.New(fault.Usage, "--limit does not take %d", n).Hint("it takes a number from 1 on")
	}
	return n, nil
}

// listSignals is signal --list.
func listSignals(ctx context.Context, s *session, cmd *command, c *urfave.Context) error {
	for _, flag := range []string{"batch", "at", "by"} {
		if c.IsSet(flag) {
			return cmd.misused("--%s does not go with --list", flag)
		}
	}
	query, err := parseSignals(s, cmd, c)
	switch {
	case err != nil:
		return err
	case c.NArg() > 2:
		return cmd.misused("--list takes no payload, got %q", c.Args().Get(2))
	case c.NArg() > 1 && c.IsSet("name"):
		return cmd.misused("two names are given: %q, and %q by --name", c.Args().Get(1), query.Name)
	case c.NArg() > 1:
		query.Name = c.Args().Get(1)
	}
	return s.withStore(ctx, func(store *timeline.Store) error { return runSignals(ctx, s, store, query) })
}

// parseSignals reads a query; its RunID is what the command line calls the run.
func parseSignals(s *session, cmd *command, c *urfave.Context) (sqliteindex.SignalQuery, error) {
	query := sqliteindex.SignalQuery{RunID: c.Args().First(), Name: c.String("name"), Correlated: c.Bool("uncorrelated")}
	if c.IsSet("correlation") {
		if query.Correlated {
			return query, cmd.misused("--correlation and --uncorrelated do not go together")
		}
		query.Correlated, query.CorrelationID = true, new(c.String("correlation"))
	}
	if c.IsSet("after") {
		after, err := parseMoment(s.Now(), "after", c.String("after"))
		if err != nil {
			return query, err
		}
		query.AfterMs = &after
	}
	var err error
	query.Limit, err = parseLimit(c)
	return query, err
}

// runSignals prints the signals of a run.
func runSignals(ctx context.Context, s *session, store *timeline.Store, query sqliteindex.SignalQuery) error {
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
		return s.writeSignals(list)
	}
	if len(list) == 0 && s.OutTTY {
		s.Note("there is no such signal")
	}
	t := term.Table{Header: []string{"SEQ", "TIME", "NAME", "CORRELATION", "BY", "PAYLOAD"}}
	for _, signal := range list {
		payload := signal.Payload
		if s.IsTerminalOut() {
			payload = plain.Shorten(payload, valueShown)
		}
		t.Add(
			term.Cell{Text: strconv.FormatInt(signal.Seq, 10)}, term.Cell{Text: clockTime(signal.ReceivedAtMs)}, term.Cell{Text: signal.Name},
			term.Cell{Text: orEmpty(signal.CorrelationID)}, term.Cell{Text: orEmpty(signal.ReceivedBy)}, term.Cell{Text: payload},
		)
	}
	return t.Write(s.Terminal)
}

func (s *session) writeSignals(list []sqliteindex.SignalRow) error {
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
