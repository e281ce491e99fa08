package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
)

func denyCommand() *command {
	return &command{
		name:    "deny",
		summary: "deny what a run waits for somebody to approve",
		usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--note TEXT] [--by WHO]"},
		about: `Says no to an approval of a run, as approve says yes. What that means, the workflow
says: the task fails, is skipped, or is finished with "approved": false. Prints the
run's id.`,
		minArgs: 1, maxArgs: 2,
		flags:    decideFlags(),
		changes:  true,
		exits:    writes(),
		examples: []example{{"deny, and say why", `git smithers deny triage-1 deploy --note 'not on a Friday'`}},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseDecide(c, false)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runDecide(ctx, s, store, opts) })
		},
	}
}
