package answer

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
)

func approveCommand() *arg.Command {
	return &arg.Command{
		Name:    "approve",
		Summary: "approve a step that waits for approval",
		Usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--note TEXT] [--by WHO] [--resume]"},
		About: `Approves a step of a run. Without a node, the run must have only one open approval. If a
process runs the run, that process continues it; otherwise type resume, or give --resume.

The first decision counts: a second one is refused, and the error shows the first. Prints
the run's id.`,
		MinArgs: 1, MaxArgs: 2,
		Flags:   decideFlags(),
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"approve, and continue", "git smithers approve triage-1 --resume"},
			{"say why", `git smithers approve triage-1 deploy --note 'after the freeze'`},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			opts, err := parseDecide(c, true)
			if err != nil {
				return err
			}
			return withStore(ctx, s, opts.resume, func(store *timeline.Store) error { return runDecide(ctx, s, store, opts) })
		},
	}
}
