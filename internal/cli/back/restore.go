package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// restoreOptions has the options of restore.
type restoreOptions struct {
	address  string
	worktree string // the task whose own worktree is restored; "" for the files of the run
	to       string // the folder of the new working copy; "" restores in place
	dryRun   bool
	yes      bool
	shared   bool // restore what others may have changed, too
	own      bool // restore the files that a session's calls of tools name
}

func restoreCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "restore",
		Summary: "restore the files of a frame, in place or in a new working copy",
		Usage:   []string{"<run>[:<frame>] [--worktree TASK] [--dry-run] [--yes]", "<run>[:<frame>] [--worktree TASK] --to DIR"},
		About: `Restores the files of the frame in the working copy, or in the run's own worktree if its
workflow asked for one. Unsaved changes are saved as a frame first. At a terminal, restore
lists untracked files that it would remove, and asks before it removes them. Files that were
never captured stay; if such a file is in the way, nothing is restored. So do new untracked
files that no frame has; if one is in the way, --yes saves and removes it. HEAD,
branch and index stay; in a jj repository the restore is one operation, which jj undo takes
back. The state of the run does not change. Prints each changed path, with add, modify or
remove.

With --to, restore puts the files into a new working copy: a linked git worktree or a jj
workspace in DIR, which must be empty or not exist. Prints its path. --to only reads the
run, so a unique prefix of the run's id is enough. The new working copy gets a copy of the
ignored files that .worktreeinclude names, and the command in smithers.worktree.setup runs
there once.

With --worktree, restore restores the files of the task's own worktree in that worktree.

A frame that was made while another run or session was at work in the same folder is restored
with --shared, and with --own only the files that a session's own calls of tools name. No file
is removed or replaced in a folder where another run executes commands.`,
		MinArgs: 1, MaxArgs: 1,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "to", Usage: "make a new working copy in `DIR`"},
			&urfave.StringFlag{Name: "worktree", Usage: "restore the worktree of `TASK`"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the changes without making them"},
			sharedFlag(),
			&urfave.BoolFlag{Name: "own", Usage: "restore the files that a session's own calls of tools name"},
			requests.RemovalFlag(), requests.TrustFilesFlag(),
		},
		Changes: true,
		Exits:   arg.Writes(),
		Examples: []arg.Example{
			{"see the changes first", "git smithers restore triage-1:6 --dry-run"},
			{"get the files of frame 6 back", "git smithers restore triage-1:6"},
			{"look at the files in another folder", "git smithers restore triage-1:6 --to ../before"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := restoreOptions{c.Args().First(), c.String("worktree"), c.String("to"), c.Bool("dry-run"), c.Bool("yes"), c.Bool("shared"), c.Bool("own")}
		switch {
		case opts.to == "" && c.IsSet("to"):
			return cmd.Misused("--to is empty")
		case opts.own && (opts.shared || opts.worktree != "" || opts.to != ""):
			return cmd.Misused("--own does not go together with --shared, --worktree or --to")
		case opts.to != "" && opts.dryRun:
			return cmd.Misused("--to and --dry-run do not go together: a new folder has no files to change")
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

// sharedFlag returns the flag to restore a frame that others may have changed, too.
func sharedFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "shared", Usage: "restore a frame even if changes may be those of another run or session"}
}

// runRestore restores the files of a frame in place, and prints the changes. If opts.dryRun is true, it changes
// nothing, and prints the changes that a restore would make. kind is the kind of the document for --json.
func runRestore(ctx context.Context, s *session.Session, store *timeline.Store, opts restoreOptions, kind string) error {
	restore := requests.Open(s, store).Restore
	if opts.own {
		restore = requests.Open(s, store).RestoreOwn
	}
	done, err := restore(ctx, files.RestoreRequest{
		From: opts.address, Worktree: opts.worktree, DryRun: opts.dryRun, Confirm: requests.ConfirmRemoval(s, opts.yes, requests.YesRemoves),
		Shared: opts.shared,
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the files are restored, so print the changes, even after Ctrl-C
	if s.JSON {
		return s.WriteJSON(term.Document(kind, requests.DescribeRestored(done, opts.dryRun)))
	}
	return requests.TellRestored(ctx, s, store, done, opts.dryRun)
}

// runCheckout makes a new working copy with the files of a frame, and prints the path of the working copy. opts.to is
// the folder of the working copy, or "" for a default folder.
func runCheckout(ctx context.Context, s *session.Session, store *timeline.Store, opts restoreOptions) error {
	made, equipped, err := requests.Open(s, store).CheckOutWhole(ctx, files.CheckoutRequest{From: opts.address, Worktree: opts.worktree, Dir: opts.to})
	if err != nil {
		return err
	}
	path := made.WorkingCopy.Root()
	if s.JSON {
		return s.WriteJSON(term.Document("checkout", term.Member("from", made.From.String()), term.Member("path", path), requests.CodeOf(made.VCS), equipped))
	}
	s.Note("made a new working copy with the files of %s", plain.Text(made.From.String()))
	requests.NoteIncomplete(s, made.VCS)
	return s.Printf("%s\n", plain.Text(path))
}
