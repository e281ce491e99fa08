package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/back/travel"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/timeline"
)

func resetCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "reset",
		Summary: "make all tasks of a run pending again, or set its state back to a frame",
		Usage:   []string{"[<workflow>] <run>[:<frame>] [--keep-signals] [--resume [--yes]]"},
		About: `Makes every task of the run pending again and clears all outputs, loops, approvals, answers
and signals, in a new frame; --keep-signals keeps the signals. The run's input and the files stay. The frames in between are
shown only by timeline --all and keep their addresses; attempts stay in the history, marked
cancelled. undo takes the reset back.

With a frame, the run gets the state of that frame: tasks that started later are pending
again. travel does the same and also restores the files.

If you name a workflow file, the run continues with that file. A run that a live process is
running is refused; so is one that another clone has claimed, until an hour after its newest
entry, unless --force is given.

Prints the address of the new frame; with --resume, the run's id.`,
		MaxArgs: 2,
		Flags:   append(append(arg.TargetFlags(), keepSignalsFlag()), sequelFlags(requests.ConfirmFlag())...),
		Changes: true,
		Exits:   arg.Runs(),
		Examples: []arg.Example{
			{"run all tasks again", "git smithers reset triage-1 --resume"},
			{"run all tasks again with the current workflow file", "git smithers reset triage.yaml triage-1 --resume"},
			{"set the state back to frame 6 and leave the files alone", "git smithers reset triage-1:6"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		of, err := arg.ParseTarget(s, cmd, c)
		if err != nil {
			return err
		}
		req := app.ResetRequest{ResetRequest: travel.ResetRequest{Run: of.Address, Force: c.Bool("force"), Signals: c.Bool("keep-signals")}}
		if req.Sequel, err = parseSequel(s, cmd, c, of.Workflow, true); err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runReset(ctx, s, store, req) })
	}
	return cmd
}

// runReset sets a run back to its beginning or to a frame. Without --resume, it then prints the address of the new
// frame. With --resume, it continues the run, and prints how the run ended or why it waits.
func runReset(ctx context.Context, s *session.Session, store *timeline.Store, req app.ResetRequest) error {
	done, err := requests.Open(s, store).Reset(ctx, req)
	if done == nil {
		return err
	}
	return tellWentBack(ctx, s, store, done, err, req.Resume, func(resumed *requests.RunDocument) any {
		return term.Document("reset", requests.DescribeTraveled(done.Result), term.Optional("resumed", resumed))
	})
}
