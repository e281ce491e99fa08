package inspect

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// eventsOptions has the options of events.
type eventsOptions struct {
	query  sqliteindex.EventQuery // its RunID is the run as the command line names it
	follow bool
	count  bool
}

func eventsCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "events",
		Summary: "list the events of a run",
		Usage:   []string{"<run> [--follow] [--after SEQ] [--type T]... [--node N] [--since TIME] [--limit N] [--count]"},
		About: `Lists the events of a run by their numbers, which have no gaps and never change: number,
time, type, task, and the details of the event. With --json, prints one object per line.

--follow prints new events until the run finishes, fails or is cancelled. To continue after
the last event that you have read, pass its number to --after.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print new events until the run has ended"},
			&urfave.Int64Flag{Name: "after", Usage: "list only events with a number above `SEQ`"},
			arg.TextsFlag("type", "list only events of type `T` (can be repeated)", "t"),
			&urfave.StringFlag{Name: "node", Aliases: []string{"n"}, Usage: "list only events of the task `N`"},
			arg.SinceFlag("list only events since `TIME`"),
			arg.LimitFlag(0, "list only the first `N` events (default: all)"),
			&urfave.BoolFlag{Name: "count", Usage: "print the number of events instead of the events"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"watch a run", "git smithers events triage-1 --follow"},
			{"see who approved what", "git smithers events triage-1 -t ApprovalGranted -t ApprovalDenied"},
			{"continue where you stopped reading", "git smithers events triage-1 --after 41 --json"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts, err := parseEvents(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runEvents(ctx, s, store, opts) })
	}
	return cmd
}

// parseEvents reads the options from the command line. The error is usage if --follow and --count are both given, or if
// a value is invalid. --after -1 is valid: it excludes no event.
func parseEvents(s *session.Session, cmd *arg.Command, c *urfave.Context) (opts eventsOptions, err error) {
	opts = eventsOptions{
		query:  sqliteindex.EventQuery{RunID: c.Args().First(), Types: arg.Texts(c, "type"), Node: c.String("node")},
		follow: c.Bool("follow"), count: c.Bool("count"),
	}
	if opts.follow && opts.count {
		return opts, cmd.Misused("--follow and --count do not go together")
	}
	if c.IsSet("after") {
		after := c.Int64("after")
		if after < -1 {
			return opts, fault.New(fault.Usage, "--after cannot be %d", after).Hint("use the number of an event; the first is 0")
		}
		opts.query.After = &after
	}
	if opts.query.SinceMs, err = arg.ParseSince(s, c); err != nil {
		return opts, err
	}
	opts.query.Limit, err = arg.ParseLimit(c)
	return opts, err
}

// runEvents prints the events that opts.query selects. With --count, it prints only the number of these events. With
// --follow, it also prints each new event, until the run has ended or the limit of the query is reached.
// opts.query.RunID may be a unique prefix of a run's id.
func runEvents(ctx context.Context, s *session.Session, store *timeline.Store, opts eventsOptions) error {
	id, err := store.ResolveRun(ctx, opts.query.RunID)
	if err != nil {
		return err
	}
	head, err := store.Head(ctx, id)
	if err != nil {
		return err
	}
	opts.query.RunID = head.Row().ID
	if err := warnOfTypes(ctx, s, store, opts.query); err != nil {
		return err
	}
	if opts.follow {
		return (&eventFollower{s: s, store: store, head: head, query: opts.query}).follow(ctx)
	}
	index, err := store.Details(ctx, opts.query.RunID)
	if err != nil {
		return err
	}
	if opts.count {
		n, err := index.CountEvents(ctx, opts.query)
		if err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(term.Document("events", term.Member("runId", opts.query.RunID), term.Member("count", n)))
		}
		return s.Printf("%d\n", n)
	}
	list, err := index.Events(ctx, opts.query)
	if err != nil {
		return err
	}
	if s.JSON {
		return writeEvents(s, list)
	}
	if len(list) == 0 && s.OutTTY {
		s.Note("no event of the run matches")
	}
	return s.Paged(ctx, func() error {
		t := term.Table{Header: []string{"SEQ", "TIME", "EVENT", "TASK", "WHAT"}}
		for _, event := range list {
			t.Add(eventCells(event)...)
		}
		return t.Write(s.Terminal)
	})
}
