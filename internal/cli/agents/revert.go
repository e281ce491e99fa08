package agents

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func revertCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "revert",
		Summary: "take back what one turn of a session changed, and keep later work",
		Usage:   []string{"<session>:turn:N [--own | --shared] [--dry-run] [--yes]"},
		About: `Reverses the change from the turn's prompt to its answer, and merges it onto the files of the working
copy, three ways, as git merge does. Files that the turn did not change stay. Unsaved changes are saved
as a frame of the session first; undo takes the revert back. HEAD, branch, index and the conversation
stay: tell the agent what you took back. Prints each changed path, with add, modify or remove.

Where later work touched the same lines, the file gets conflict markers, and the exit status is 1. A
note says what a file has that cannot have markers. Ignored files were never captured, and stay.

<session> is a run, the agent's own id, or @ for the newest session. To take back several turns, begin
with the newest. While another run or session was at work in the same folder, nobody knows which
changes are whose: --shared takes back all of them, --own the files that the session's own calls name.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the changes without making them"},
			&urfave.BoolFlag{Name: "shared", Usage: "take back changes that may be those of another run or session"},
			&urfave.BoolFlag{Name: "own", Usage: "take back the files that the session's own calls of tools name"},
			requests.RemovalFlag(), requests.TrustFilesFlag(),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"see what would be taken back", "git smithers session revert @:turn:3 --dry-run"},
			{"take back the third turn of the newest session", "git smithers session revert @:turn:3"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		req := files.TakeBackRequest{
			DryRun: c.Bool("dry-run"), Shared: c.Bool("shared"), Confirm: requests.ConfirmRemoval(s, c.Bool("yes"), requests.YesRemoves),
		}
		if c.Bool("own") && req.Shared {
			return cmd.Misused("--own and --shared do not go together")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			done, err := requests.Open(s, store).RevertTurn(ctx, c.Args().First(), c.Bool("own"), req)
			if done == nil {
				return err
			}
			if printed := writeReverted(context.WithoutCancel(ctx), s, done); printed != nil {
				return printed
			}
			return err
		})
	}
	return cmd
}

// conflictTexts says what a file in conflict has, by the kind of the conflict.
var conflictTexts = map[string]string{
	"markers": "edit it between the markers <<<<<<< and >>>>>>>",
	"deleted": "it was deleted since; the version of before the turn is there again",
	"added":   "the turn added it, and it was changed since; it stays",
	"kept":    "the versions cannot be merged; it stays as it is now",
}

// writeReverted prints what the revert of a turn changed.
func writeReverted(ctx context.Context, s *session.Session, done *files.TakeBackResult) error {
	name, conflicts := done.Asked.Before, []map[string]string{}
	for _, one := range done.Merged.Conflicts {
		conflicts = append(conflicts, map[string]string{"path": snapshot.EscapePath(one.Path), "kind": one.Kind()})
		s.Note("in conflict: %s: %s", plain.Text(one.Path), conflictTexts[one.Kind()])
	}
	if s.JSON {
		return s.WriteJSON(term.Document("session-revert", term.Member("run", done.Asked.Run), term.Member("turn", done.Asked.Attempt.Iteration), term.Member("after", done.After.String()),
			term.Member("made", done.Made), term.Member("conflicts", conflicts), requests.DescribeRestored(&done.RestoreResult, done.Asked.DryRun)))
	}
	if err := requests.PrintChanges(ctx, s, done.Changes); err != nil {
		return err
	}
	if len(done.New) > 0 {
		s.Note("not taken back, because a capture or --own left them out: %s", display.List(done.New))
	}
	if len(done.Ignored) > 0 {
		s.Note("not taken back, because git ignores them: %s", display.List(done.Ignored))
	}
	if len(done.Running) > 0 {
		s.Note("the agent is at work: its turn has not ended, and goes on with these files")
	}
	switch {
	case len(done.Made) == 0 && done.Open:
		s.Note("%s has not ended, and no frame has a file that it changed; nothing was changed. `%s` makes one", name,
			fault.CommandLine(arg.Program, "session", "checkpoint", done.Asked.Run))
	case len(done.Made) == 0:
		s.Note("%s changed no file that can be taken back; nothing was changed", name)
	case len(done.Changes)+len(conflicts) == 0:
		s.Note("%s is taken back already; nothing was changed", name)
	case done.Asked.DryRun:
		s.Note("taking %s back would change %s, with %s; nothing was changed", name, plain.Count(len(done.Changes), "file"), plain.Count(len(conflicts), "conflict"))
	case len(conflicts) == 0:
		s.Note("%s is taken back: `%s` brings it again", name, fault.CommandLine(arg.Program, "undo", done.Asked.Run))
	}
	return nil
}
