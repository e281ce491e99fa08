package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/timeline"
)

func cancelRequestCommand() *command {
	return &command{
		name:    "cancel-request",
		summary: "cancel a question that a run waits for an answer to",
		hidden:  true,
		usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--by WHO]", "<request> [--by WHO]"},
		about:   becameFlag("answer --cancel"),
		minArgs: 1, maxArgs: 2,
		flags:    append(placeFlags(), whoFlag()),
		changes:  true,
		exits:    writes(),
		examples: []example{{"nobody will answer this", "git smithers answer triage-1 which-fix --cancel"}},
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
	cancelled, err := mailbox.CancelRequest(ctx, head, place, who(by, store), s.Now())
	if err != nil {
		return err
	}
	return s.printRequest(store, head, cancelled)
}
