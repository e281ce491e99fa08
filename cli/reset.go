package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline"
)

// resetDocument is what reset prints with --json.
type resetDocument struct {
	Kind string `json:"kind"`
	traveledDocument
	Resumed *runResult `json:"resumed,omitempty"`
}

func resetCommand() *command {
	cmd := &command{
		name:    "reset",
		summary: "begin a run anew, within its history",
		usage:   []string{"[<workflow>] --run-id R [--resume [--yes]]"},
		about: `Makes every task of the run pending again and clears every output, loop, approval, answer
and signal, in a new frame. The run's input stays, and so do the files. The frames since
its first are left out of the timeline, unless --all shows them, and keep their addresses;
attempts stay in history, marked cancelled. undo takes it back.

With a workflow in front the run goes on with that. A run that a live process is running
is left alone.

Prints the address of the new frame; with --resume, the run's id.`,
		maxArgs:  1,
		required: []string{"run-id"},
		flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "run-id", Aliases: []string{"r"}, Usage: "the id of the `RUN` (required)"},
		}, againFlags(confirmFlag())...),
		changes: true,
		exits:   runs(),
		examples: []example{
			{"do all of it again", "git smithers reset --run-id triage-1 --resume"},
			{"do it again with the workflow as it is now", "git smithers reset triage.yaml --run-id triage-1 --resume"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		again, err := parseAgain(cmd, c, true)
		if err != nil {
			return err
		}
		run := c.String("run-id")
		return s.withStore(ctx, func(store *timeline.Store) error { return runReset(ctx, s, store, run, again) })
	}
	return cmd
}

// runReset begins a run anew and, where that is asked for, goes on with it.
func runReset(ctx context.Context, s *session, store *timeline.Store, run string, again againOptions) error {
	req := timeline.ResetRequest{Run: run}
	file, err := s.namedWorkflow(ctx, again.workflow)
	if err == nil {
		err = refuseAgain(ctx, store, run, again)
	}
	if err != nil {
		return err
	}
	req.Redefinition = s.redefinition(store, again, engine.ReconcileRequest{Workflow: file})
	done, err := store.Reset(ctx, req)
	if err != nil {
		return err
	}
	return s.goOn(ctx, store, done, file, again, func(resumed *runResult) any {
		return resetDocument{"reset", describeTraveled(done), resumed}
	})
}
