package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/timeline"
)

func approveCommand() *command {
	return &command{
		name:    "approve",
		summary: "approve what a run waits for somebody to approve",
		usage:   []string{"<run> [<node> | --node ID] [--iteration I] [--note TEXT] [--by WHO]"},
		about: `Says yes to an approval of a run. Without a node, to the only one that is open. A
process that runs the run goes on by itself; otherwise resume does.

An approval is decided once: whoever comes second is told what was decided. Prints
the run's id.`,
		minArgs: 1, maxArgs: 2,
		flags:   decideFlags(),
		changes: true,
		exits:   writes(),
		examples: []example{
			{"approve, and go on", "git smithers approve triage-1 && git smithers resume triage-1"},
			{"say why", `git smithers approve triage-1 deploy --note 'after the freeze'`},
		},
		run: func(ctx context.Context, s *session, c *urfave.Context) error {
			opts, err := parseDecide(c, true)
			if err != nil {
				return err
			}
			return s.withStore(ctx, func(store *timeline.Store) error { return runDecide(ctx, s, store, opts) })
		},
	}
}
