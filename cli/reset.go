package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/travel"
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
		summary: "begin a run anew, or set its state back to a frame",
		usage:   []string{"[<workflow>] <run>[:<frame>] [--resume [--yes]]"},
		about: `Makes every task of the run pending again and clears every output, loop, approval, answer
and signal, in a new frame. The run's input stays, and so do the files. The frames since
its first are left out of the timeline, unless --all shows them, and keep their addresses;
attempts stay in history, marked cancelled. undo takes it back.

With a frame, the state is that of the frame: tasks that started since are pending again.
travel does the same, and takes the files back, too.

With a workflow in front the run goes on with that. A run that a live process is running
is left alone.

Prints the address of the new frame; with --resume, the run's id.`,
		maxArgs: 2,
		flags:   append(targetFlags(), sequelFlags(confirmFlag())...),
		changes: true,
		exits:   runs(),
		examples: []example{
			{"do all of it again", "git smithers reset triage-1 --resume"},
			{"do it again with the workflow as it is now", "git smithers reset triage.yaml triage-1 --resume"},
			{"set the state back to frame 6, and leave the files", "git smithers reset triage-1:6"},
		},
	}
	cmd.run = func(ctx context.Context, s *session, c *urfave.Context) error {
		of, err := parseTarget(s, cmd, c)
		if err != nil {
			return err
		}
		req := app.ResetRequest{ResetRequest: travel.ResetRequest{Run: of.address}}
		if req.Sequel, err = s.parseSequel(cmd, c, of.workflow, true); err != nil {
			return err
		}
		return s.withStore(ctx, func(store *timeline.Store) error { return runReset(ctx, s, store, req) })
	}
	return cmd
}

// runReset begins a run anew, or sets it back to a frame, and with --resume goes on with it.
func runReset(ctx context.Context, s *session, store *timeline.Store, req app.ResetRequest) error {
	done, err := s.desk(store).Reset(ctx, req)
	if done == nil {
		return err
	}
	return s.tellWentBack(ctx, store, done, err, req.Resume, func(resumed *runResult) any {
		return resetDocument{"reset", describeTraveled(done.Result), resumed}
	})
}
