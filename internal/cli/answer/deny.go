package answer

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

func denyCommand() *arg.Command {
	return &arg.Command{
		Name:    "deny",
		Summary: "deny a step that waits for approval",
		Usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--note TEXT] [--by WHO] [--resume]"},
		About: `Denies a step of a run. The workflow defines the effect: the task fails, is skipped, or
finishes with "approved": false. Without a node, the run must have only one open approval.
Prints the run's id.`,
		MinArgs: 1, MaxArgs: 2,
		Flags:    decideFlags(),
		Changes:  true,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"deny with a reason", `git smithers deny triage-1 deploy --note 'not on a Friday'`}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts, err := parseDecide(c, false)
			if err != nil {
				return err
			}
			return withStore(ctx, s, opts.resume, func(store *timeline.Store) error { return runDecide(ctx, s, store, opts) })
		},
	}
}
