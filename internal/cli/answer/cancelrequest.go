package answer

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/timeline"
)

func cancelRequestCommand() *arg.Command {
	return &arg.Command{
		Name:    "cancel-request",
		Summary: "withdraw an open question of a run",
		Hidden:  true,
		Usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--by WHO]", "<request> [--by WHO]"},
		About:   arg.BecameFlag("answer --cancel"),
		MinArgs: 1, MaxArgs: 2,
		Flags:    append(arg.PlaceFlags(), arg.WhoFlag()),
		Changes:  true,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"withdraw a question", "git smithers answer triage-1 which-fix --cancel"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			place, err := arg.ParsePlace(c)
			if err != nil {
				return err
			}
			of := requestName{run: c.Args().First(), place: place}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runCancelRequest(ctx, s, store, of, arg.ParseWho(c), false)
			})
		},
	}
}

// runCancelRequest cancels a human request, and prints the cancelled request with printRequest. request is the request
// as the command line names it. by is the user's name from the command line, as arg.ParseWho returns it.
func runCancelRequest(ctx context.Context, s *session.Session, store *timeline.Store, request requestName, by *string, resume bool) error {
	head, place, err := request.open(ctx, store)
	if err != nil {
		return err
	}
	cancelled, err := mailbox.CancelRequest(ctx, head, place, arg.Who(by, store), s.Now())
	if err != nil {
		return err
	}
	return printRequest(ctx, s, store, head, cancelled, resume)
}
