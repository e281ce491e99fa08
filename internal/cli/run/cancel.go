package run

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

func cancelCommand() *arg.Command {
	return &arg.Command{
		Name:    "cancel",
		Summary: "cancel a run, even while another process is running it",
		Usage:   []string{"<run> [--by WHO]"},
		About: `Marks the run as cancelled. If another process is running the run, that process notices the
mark, ends its tasks and stops. resume continues a cancelled run.

cancel refuses a run of Smithers, because Smithers does not read this repository: type
"smithers cancel" instead.

Prints the run's id.`,
		MinArgs: 1, MaxArgs: 1,
		Flags:    []urfave.Flag{arg.WhoFlag()},
		Changes:  true,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"stop a run", "git smithers cancel triage-1"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runCancel(ctx, s, store, c.Args().First(), arg.Who(arg.ParseWho(c), store))
			})
		},
	}
}

// runCancel sets the status of a run to cancelled, prints the run's id, and notes the command that continues the run.
// With --json, it prints only a document. run is the whole id of the run. by is the name of the person who cancels the run, or
// "".
func runCancel(ctx context.Context, s *session.Session, store *timeline.Store, run, by string) error {
	head, err := requests.Open(s, store).Cancel(ctx, run, by)
	if err != nil {
		return err
	}
	row := head.Row()
	if s.JSON {
		cancelled, err := list.CancelledBy(ctx, store, row)
		if err != nil {
			return err
		}
		return s.WriteJSON(term.Document("cancel", term.Member("runId", row.ID), term.Member("status", row.Status), term.Member("tip", head.Entry().ID.String()),
			term.Member("cancelled", cancelled)))
	}
	next, err := app.NextCommand(head, " continues the run")
	if err != nil {
		return err
	}
	s.Note("run %s is cancelled; %s", plain.Text(row.ID), next)
	return s.Printf("%s\n", plain.Text(row.ID))
}
