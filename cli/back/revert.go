package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// revertDocument is what revert prints with --json.
type revertDocument struct {
	Kind      string `json:"kind"`
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
	desk.RestoredDocument
}

func revertCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "revert",
		Summary: "put the files back to what they were after an attempt",
		Usage: []string{
			"[<workflow>] <run>[:<frame>] --node N [--attempt A] [--iteration I] [--dry-run] [--yes]",
			"[<workflow>] <run>:<frame> [--dry-run] [--yes]",
		},
		About: `Makes the working copy exactly what it was when the attempt of a task ended, as
restore does for a frame: what is there now is captured first, at a terminal one is asked
before untracked files are removed, files that were never captured stay, and where one is
in the way, nothing is done. The state of the run does
not change; the run records the revert as a frame. A workflow file in front is
accepted, as other tools give one, and is not read. Where the task, or the whole run,
has a worktree of its own, its files are put back there.

The attempt is the newest one, or the newest one by the frame that is named. Without
--node, the files are those of the frame, as with restore.

Tasks that run side by side share their files: what the others had done by then is
part of it, and they are named. Prints what changed: add, modify or remove, and the
path.`,
		MaxArgs: 2,
		Flags: append([]urfave.Flag{
			arg.NodeFlag("the files are those after an attempt of the task `ID`"),
			&urfave.IntFlag{Name: "attempt", Aliases: []string{"a"}, Usage: "the attempt `A`, from 1; without it, the newest"},
			&urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0; without it, 0"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what would change, and change nothing"},
			desk.RemovalFlag(),
		}, arg.TargetFlags()...),
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"go back to the files that the task plan left", "git smithers revert triage-1 --node plan"},
			{"see what the second attempt's files would change", "git smithers revert triage-1 --node fix --attempt 2 --dry-run"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req, err := parseRevert(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runRevert(ctx, s, store, req, c.Bool("yes")) })
	}
	return cmd
}

func parseRevert(s *session.Session, cmd *arg.Command, c *urfave.Context) (code.RevertRequest, error) {
	of, err := arg.ParseTarget(s, cmd, c)
	if err == nil {
		err = arg.NeedNode(cmd, c)
	}
	if err != nil {
		return code.RevertRequest{}, err
	}
	req := code.RevertRequest{
		Run: of.Address, Node: c.String("node"), Iteration: c.Int("iteration"), Attempt: c.Int("attempt"),
		DryRun: c.Bool("dry-run"),
	}
	if c.IsSet("attempt") && req.Attempt < 1 {
		return req, fault.New(fault.Usage, "--attempt does not take %d", req.Attempt).Hint("attempts are counted from 1")
	}
	if req.Iteration < 0 {
		return req, fault.New(fault.Usage, "--iteration does not take %d", req.Iteration).Hint("iterations are counted from 0")
	}
	return req, nil
}

// runRevert restores the files that an attempt left or, without a node, those of a frame.
func runRevert(ctx context.Context, s *session.Session, store *timeline.Store, req code.RevertRequest, yes bool) error {
	if req.Node == "" {
		return revertToFrame(ctx, s, store, req, yes)
	}
	req.Confirm = desk.ConfirmRemoval(s, yes, desk.YesRemoves)
	done, err := desk.Open(s, store).Revert(ctx, req)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is done, and that is told
	if s.JSON {
		return s.WriteJSON(revertDocument{"revert", req.Node, req.Iteration, done.Attempt, desk.DescribeRestored(done, req.DryRun)})
	}
	return desk.TellRestored(ctx, s, store, done, req.DryRun)
}

// revertToFrame is a restore of a frame.
func revertToFrame(ctx context.Context, s *session.Session, store *timeline.Store, req code.RevertRequest, yes bool) error {
	framed, err := arg.NamesFrame(ctx, store, req.Run)
	if err != nil {
		return err
	}
	if !framed {
		return fault.New(fault.InvalidAddress, "revert needs a frame or a node, and %q is a run", req.Run).
			Hint("name a frame, as in %s:6, or the task whose files you want: --node ID", fault.Word(req.Run))
	}
	return runRestore(ctx, s, store, restoreOptions{address: req.Run, dryRun: req.DryRun, yes: yes}, "revert")
}
