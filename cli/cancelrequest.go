package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
)

func cancelRequestCommand() *command {
	return &command{
		name:    "cancel-request",
		summary: "cancel a question that a run waits for an answer to",
		usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--by WHO]", "<request> [--by WHO]"},
		about: `Cancels a human request, so that nobody has to answer it any more. The attempt that
waits for it fails, with code request_cancelled. Without a node, it is the only one
that is open; a request's id, as inbox prints it, stands for run, node and iteration.
Prints the run's id.`,
		minArgs: 1, maxArgs: 2,
		flags:    append(placeFlags(), whoFlag()),
		changes:  true,
		exits:    writes(),
		examples: []example{{"nobody will answer this", "git smithers cancel-request triage-1 which-fix"}},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			place, err := parsePlace(c)
			if err != nil {
				return err
			}
			of := requestName{c.Args().First(), place}
			return s.withStore(ctx, func(store *timeline.Store) error {
				return runCancelRequest(ctx, s, store, of, parseWho(c))
			})
		},
	}
}

// runCancelRequest cancels a human request.
func runCancelRequest(ctx context.Context, s *session, store *timeline.Store, of requestName, by *string) error {
	head, place, err := of.open(ctx, store)
	if err != nil {
		return err
	}
	cancelled, err := engine.CancelRequest(ctx, head, place, who(by, store), s.Now())
	if err != nil {
		return err
	}
	return s.printRequest(store, head, cancelled)
}
