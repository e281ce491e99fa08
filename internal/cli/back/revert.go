package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func revertCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "revert",
		Summary: "restore the files as they were after an attempt",
		Usage: []string{
			"[<workflow>] <run>[:<frame>] --node N [--attempt A] [--iteration I] [--dry-run] [--yes]",
			"[<workflow>] <run>:<frame> [--dry-run] [--yes]",
		},
		About: `Restores the files as they were when an attempt of a task ended. Like restore, revert saves
unsaved changes as a frame first, asks at a terminal before it removes untracked files,
leaves files alone that were never captured, and changes nothing if such a file is in the
way. The state of the run does not change; the run records the revert as a frame. A
workflow file before the run is accepted for compatibility and is not read. If the task or
the run has its own worktree, revert restores the files there.

The default is the newest attempt, or with a frame the newest attempt at that frame.
Without --node, revert restores the files of the frame, as restore does.

Tasks that run side by side share their files: the restored files include the work that
other tasks had done by then, and a note names these tasks. Prints each changed path, with
add, modify or remove.`,
		MaxArgs: 2,
		Flags: append([]urfave.Flag{
			arg.NodeFlag("restore the files after an attempt of the task `ID`"),
			&urfave.IntFlag{Name: "attempt", Aliases: []string{"a"}, Usage: "the attempt `A`, from 1 (default: the newest)"},
			&urfave.IntFlag{Name: "iteration", Usage: "the iteration `I` of a task in a loop, from 0 (default: 0)"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the changes without making them"},
			sharedFlag(),
			requests.RemovalFlag(), requests.TrustFilesFlag(),
		}, arg.TargetFlags()...),
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"go back to the files after the task plan", "git smithers revert triage-1 --node plan"},
			{"see the changes for the second attempt of the task fix", "git smithers revert triage-1 --node fix --attempt 2 --dry-run"},
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

// parseRevert reads the request from the command line. The error is usage if --iteration or --attempt is invalid or
// given without --node. The other errors are those of arg.ParseTarget.
func parseRevert(s *session.Session, cmd *arg.Command, c *urfave.Context) (files.RevertRequest, error) {
	of, err := arg.ParseTarget(s, cmd, c)
	if err == nil {
		err = arg.NeedNode(cmd, c)
	}
	if err != nil {
		return files.RevertRequest{}, err
	}
	req := files.RevertRequest{
		Run: of.Address, Node: c.String("node"), Iteration: c.Int("iteration"), Attempt: c.Int("attempt"),
		DryRun: c.Bool("dry-run"), Shared: c.Bool("shared"),
	}
	if c.IsSet("attempt") && req.Attempt < 1 {
		return req, fault.New(fault.Usage, "--attempt cannot be %d", req.Attempt).Hint("use a number from 1")
	}
	if req.Iteration < 0 {
		return req, fault.New(fault.Usage, "--iteration cannot be %d", req.Iteration).Hint("use a number from 0")
	}
	return req, nil
}

// runRevert restores the files in place as they were after an attempt, and prints the changes. If req names no node, it
// restores the files of a frame instead, see revertToFrame. If req.DryRun is true, it changes nothing, and prints the
// changes that it would make. If yes is true, it removes untracked files without asking.
func runRevert(ctx context.Context, s *session.Session, store *timeline.Store, req files.RevertRequest, yes bool) error {
	if req.Node == "" {
		return revertToFrame(ctx, s, store, req, yes)
	}
	req.Confirm = requests.ConfirmRemoval(s, yes, requests.YesRemoves)
	done, err := requests.Open(s, store).Revert(ctx, req)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the files are restored, so print the changes, even after Ctrl-C
	if s.JSON {
		return s.WriteJSON(term.Document("revert", term.Member("nodeId", req.Node), term.Member("iteration", req.Iteration), term.Member("attempt", done.Attempt),
			requests.DescribeRestored(done, req.DryRun)))
	}
	return requests.TellRestored(ctx, s, store, done, req.DryRun)
}

// revertToFrame restores the files of the frame that req.Run names, and prints the changes, as runRestore does. The
// error is invalid_address if req.Run names a run without a frame. If yes is true, untracked files are removed without
// asking.
func revertToFrame(ctx context.Context, s *session.Session, store *timeline.Store, req files.RevertRequest, yes bool) error {
	framed, err := arg.NamesFrame(ctx, store, req.Run)
	if err != nil {
		return err
	}
	if !framed {
		return fault.New(fault.InvalidAddress, "revert needs a frame or a node, got only the run %q", req.Run).
			Hint("name a frame, as in %s:6, or the task whose files you want: --node ID", fault.Word(req.Run))
	}
	return runRestore(ctx, s, store, restoreOptions{address: req.Run, dryRun: req.DryRun, yes: yes, shared: req.Shared}, "revert")
}
