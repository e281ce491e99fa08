package back

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
)

func worktreesCommand() *arg.Command {
	return &arg.Command{
		Name:    "worktrees",
		Summary: "list or remove the worktrees of runs",
		About: `Lists the working copies that runs, restore --to and replay --restore-vcs made in this
clone: linked git worktrees or jj workspaces. Each line has the run, the name within the
run, the branch, the commit, the folder, and the reason why prune would keep the worktree.
With --json, prints one object per line.`,
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list all worktrees of runs", "git smithers worktrees"},
			{"remove the worktrees of one run", "git smithers worktrees prune triage-1"},
		},
		Children: []*arg.Command{worktreesPruneCommand()},
		Run: func(ctx context.Context, s *session.Session, _ *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runWorktrees(ctx, s, store) })
		},
	}
}

func worktreesPruneCommand() *arg.Command {
	return &arg.Command{
		Name:    "prune",
		Summary: "remove worktrees of runs",
		Usage:   []string{"[<run>...] [--branches] [--dry-run]"},
		About: `Removes the worktrees of the named runs, or of all runs that are not running, including
those made by restore --to and replay --restore-vcs. A worktree stays if it has work that is
neither in a frame nor committed to a branch; the output shows the reason. Without a run, what
killed bisects have left goes, too.

Branches stay. With --branches, the branch that a run made for a removed worktree goes, too, unless
it has commits that no other branch and no tag has, or is in use: checked out, rebased or bisected
elsewhere, or part of a symbolic ref. Prints each worktree and the outcome.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "dry-run", Usage: "list the worktrees without removing them"},
			&urfave.BoolFlag{Name: "branches", Usage: "also delete the branches that runs made for these worktrees"},
			requests.TrustFilesFlag(),
		},
		Changes:  true,
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"see which worktrees prune would remove", "git smithers worktrees prune --dry-run"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runWorktreesPrune(ctx, s, store, c.Args().Slice(), files.PruneOptions{DryRun: c.Bool("dry-run"), Branches: c.Bool("branches")})
			})
		},
	}
}

// runWorktrees prints a line for each worktree that this clone made for a run.
func runWorktrees(ctx context.Context, s *session.Session, store *timeline.Store) error {
	list, err := files.Worktrees(ctx, store)
	if err != nil {
		return err
	}
	if s.JSON {
		return term.WriteAll(s.Terminal, "worktree", list)
	}
	if len(list) == 0 && s.OutTTY {
		s.Note("no run has a worktree in this clone")
	}
	return tableWorktrees(ctx, s, list, func(w files.RunWorktree) string {
		switch {
		case w.Missing:
			return "the folder does not exist"
		case w.Unsaved != "":
			return "kept: " + w.Unsaved
		}
		return ""
	})
}

// runWorktreesPrune removes the worktrees of the given runs or, if runs is empty, of all runs that are not running. It
// keeps worktrees with unsaved work. It prints a line for each worktree with the outcome. If opts.DryRun is true, it removes
// nothing, and prints the outcome that the removal would have.
func runWorktreesPrune(ctx context.Context, s *session.Session, store *timeline.Store, runs []string, opts files.PruneOptions) error {
	over := s.While("looking for unsaved work")
	list, err := files.PruneWorktrees(ctx, store, runs, opts)
	var left []string
	if err == nil && len(runs) == 0 {
		left, err = files.SweepScratches(ctx, store, opts.DryRun)
	}
	over()
	if err != nil {
		return err
	}
	for _, path := range left {
		s.Note("%s, which a killed bisect has left: %s", path, map[bool]string{true: "would be removed", false: "removed"}[opts.DryRun])
	}
	if s.JSON {
		return term.WriteAll(s.Terminal, "worktree", list)
	}
	if len(list)+len(left) == 0 && s.OutTTY {
		s.Note("no worktree to remove")
	}
	return tableWorktrees(ctx, s, list, func(w files.RunWorktree) string {
		text := "removed"
		switch {
		case w.Unsaved != "":
			return "kept: " + w.Unsaved
		case opts.DryRun:
			text = "would be removed"
		}
		switch {
		case !opts.Branches || !w.Own:
			return text
		case w.Kept != "":
			return text + "; its branch is kept: " + w.Kept
		}
		return text + ", with its branch"
	})
}

// tableWorktrees prints a line for each worktree of list. state returns the text of the column STATE.
func tableWorktrees(ctx context.Context, s *session.Session, list []files.RunWorktree, state func(files.RunWorktree) string) error {
	p := display.NewPainter(ctx, s)
	t := term.Table{Header: []string{"RUN", "NAME", "BRANCH", "COMMIT", "PATH", "STATE"}}
	for _, w := range list {
		t.Add(
			term.Cell{Text: w.RunID}, term.Cell{Text: w.Name}, term.Cell{Text: w.Branch}, term.Cell{Text: display.ShortID(w.Commit), Paint: p.Revision},
			term.Cell{Text: w.Path}, term.Cell{Text: state(w)},
		)
	}
	return t.Write(s.Terminal)
}
