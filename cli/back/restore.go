package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/cli/arg"
	"github.com/git-smithers/git-smithers/cli/desk"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// restoreOptions are what restore takes.
type restoreOptions struct {
	address  string
	worktree string // a task's own; "": the files of the run
	to       string // "": in place
	dryRun   bool
	yes      bool
}

func restoreCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "restore",
		Summary: "put the files of a frame into the working copy, or a new one",
		Usage:   []string{"<run>[:<frame>] [--worktree TASK] [--dry-run] [--yes]", "<run>[:<frame>] [--worktree TASK] --to DIR"},
		About: `Makes the working copy exactly what it was at the frame; where the run made a worktree
for itself, as its workflow may ask, that one. What is there now and in no frame of the
run yet is captured as one first. At a terminal, untracked files that would be removed are
listed, and one is asked. Files that were never captured stay as they are, and
where one is in the way, nothing is done. HEAD, branch and index stay too; with jj it is
one operation, which jj undo takes back. The state of the run does not change. Prints
what changed: add, modify or remove, and the path.

With --to, makes a new working copy of them in DIR, which must not exist or be empty:
a linked worktree of git, or a workspace of jj. Prints its path. As this only reads the
run, a prefix of its id is enough.

With --worktree, the files are those of the task's own worktree, and that is where they
are restored.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "make a new working copy in `DIR`"},
			&urfave.StringFlag{Name: "worktree", Usage: "restore the worktree of `TASK`"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what would change, and change nothing"},
			desk.RemovalFlag(),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"see what would change", "git smithers restore triage-1:6 --dry-run"},
			{"get the files of frame 6 back", "git smithers restore triage-1:6"},
			{"look at them in another folder", "git smithers restore triage-1:6 --to ../before"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := restoreOptions{c.Args().First(), c.String("worktree"), c.String("to"), c.Bool("dry-run"), c.Bool("yes")}
		switch {
		case opts.to == "" && c.IsSet("to"):
			return cmd.Misused("--to is empty")
		case opts.to != "" && opts.dryRun:
			return cmd.Misused("--to makes a new folder: there is nothing that --dry-run could say")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error {
			if opts.to != "" {
				return runCheckout(ctx, s, store, opts)
			}
			return runRestore(ctx, s, store, opts, "restore")
		})
	}
	return cmd
}

// runRestore restores in place and prints what changed, with --json as a document of the kind.
func runRestore(ctx context.Context, s *session.Session, store *timeline.Store, opts restoreOptions, kind string) error {
	done, err := desk.Open(s, store).Restore(ctx, code.RestoreRequest{
		From: opts.address, Worktree: opts.worktree, DryRun: opts.dryRun, Confirm: desk.ConfirmRemoval(s, opts.yes, desk.YesRemoves),
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is done, and that is told
	if s.JSON {
		return s.WriteJSON(restoreDocument{kind, desk.DescribeRestored(done, opts.dryRun)})
	}
	return desk.TellRestored(ctx, s, store, done, opts.dryRun)
}

// checkoutDocument is what restore --to prints with --json.
type checkoutDocument struct {
	Kind string `json:"kind"`
	From string `json:"from"`
	Path string `json:"path"`
	desk.RestoredCode
}

// runCheckout makes a new working copy.
func runCheckout(ctx context.Context, s *session.Session, store *timeline.Store, opts restoreOptions) error {
	made, err := desk.Open(s, store).CheckOut(ctx, code.CheckoutRequest{From: opts.address, Worktree: opts.worktree, Dir: opts.to})
	if err != nil {
		return err
	}
	path := made.WorkingCopy.Root()
	if s.JSON {
		return s.WriteJSON(checkoutDocument{"checkout", made.From.String(), path, desk.CodeOf(made.VCS)})
	}
	s.Note("the files of %s, in a working copy of their own", plain.Text(made.From.String()))
	desk.NoteIncomplete(s, made.VCS)
	return s.Printf("%s\n", plain.Text(path))
}

// restoreDocument is what restore prints with --json, and revert if it names no attempt.
type restoreDocument struct {
	Kind string `json:"kind"`
	desk.RestoredDocument
}
