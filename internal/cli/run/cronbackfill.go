package run

import (
	"context"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

func cronBackfillCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "backfill",
		Summary: "run a schedule's times that had no run",
		Usage:   []string{"<name> --from TIME [--to TIME] [--dry-run] [--yes]"},
		About: `Runs the schedule once for each of its times that has no run, the oldest first, one after the other.
A time has a run if one of the schedule began from then to before the next time, even if it failed or
was pruned. The run of a time is called <name>-<time in UTC>, so that no time runs twice. Unless the
schedule allows overlaps, backfill stops while the run before has not ended.

Prints each time in the schedule's zone, with its run and a status: "there" if the time had a run
before, with --dry-run "missing" if it had none, and otherwise how the run ended. More than 100 runs
need --yes.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "from", Usage: "the first `TIME`: a date, a time, or how long ago"},
			&urfave.StringFlag{Name: "to", Usage: "the last `TIME` (default: now)"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the times, and run nothing"},
			requests.ConfirmFlag(),
		}, requests.EngineFlags()...),
		Exits:    arg.Runs(),
		Examples: []arg.Example{{"see which nights had no run", "git smithers cron backfill nightly --from 7d --dry-run"}},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		if !c.IsSet("from") {
			return cmd.Misused("backfill needs --from")
		}
		settings, err := requests.ParseSettings(s, c)
		req := app.BackfillRequest{Schedule: c.Args().First(), To: s.Now(), DryRun: c.Bool("dry-run"), Many: c.Bool("yes"), Settings: settings}
		for name, at := range map[string]*time.Time{"from": &req.From, "to": &req.To} {
			if err == nil && c.IsSet(name) {
				var ms int64
				ms, err = arg.ParseMoment(s.Now(), name, c.String(name))
				*at = time.UnixMilli(ms)
			}
		}
		if err != nil {
			return err
		}
		if req.To.Before(req.From) {
			return cmd.Misused("--from is later than --to (default: now)")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			times, open := 0, 0
			err := requests.Open(s, store).Backfill(ctx, req, func(one app.BackfillTime) error {
				if times++; !one.Exists {
					open++
				}
				return printBackfill(s, one)
			})
			if err != nil {
				return err
			}
			switch {
			case times == 0:
				s.Note("schedule %s has no time there that is over", plain.Text(req.Schedule))
			case req.DryRun:
				s.Note("%d of %s had no run; nothing was run", open, plain.Count(times, "time"))
			case open == 0:
				s.Note("each of %s had a run; nothing was run", plain.Count(times, "time"))
			}
			return nil
		})
	}
	return cmd
}

// printBackfill prints a time of a backfill.
func printBackfill(s *session.Session, one app.BackfillTime) error {
	status := one.Status
	switch {
	case one.Exists:
		status = "there"
	case status == "":
		status = "missing"
	}
	if s.JSON {
		return s.WriteJSON(term.Document("cron-backfill", term.Member("atMs", one.At.UnixMilli()), term.Member("at", one.At.Format(time.RFC3339)),
			term.Member("run", one.Run), term.Member("status", status)))
	}
	return s.Printf("%s\t%s\t%s\n", one.At.Format("2006-01-02 15:04:05 MST"), plain.Text(one.Run), status)
}
