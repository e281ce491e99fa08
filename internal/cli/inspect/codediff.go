package inspect

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/compare"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// codeDiffOptions has the options of diff --code.
type codeDiffOptions struct {
	worktree string   // the task whose own worktree is compared; "" for the files of the run
	formats  []string // options of git diff
}

// runCodeDiff shows how the files of two frames differ. args has one or two addresses, and then paths. If there is one
// address, runCodeDiff compares the frame with the frame before it. Without --json, it runs git diff, with the user's
// pager, colours and settings. The error is no_code if a side has no files, or if the only address is the first frame
// of a run.
func runCodeDiff(ctx context.Context, s *session.Session, store *timeline.Store, args []string, opts codeDiffOptions) error {
	addresses, paths := splitPaths(ctx, s, store, args)
	two, err := compare.Load(ctx, store, addresses)
	if err != nil {
		return err
	}
	if two.From == nil {
		return fault.New(fault.NoCode, "%s is the run's first frame, so there are no earlier files to compare with", two.To.Address).
			Hint("`%s restore %s --to DIR` puts its files into a new folder", arg.Program, fault.Word(two.To.Address.String()))
	}
	trees, err := two.Trees(ctx, store, opts.worktree)
	if err != nil {
		return err
	}
	behind, err := warnBehindSides(ctx, s, store, two, opts.worktree)
	if err != nil {
		return err
	}
	where, err := compare.WhereForGit(ctx, s, store)
	if err != nil {
		return err
	}
	if !s.JSON {
		// With --color auto, git decides by the terminal and the user's settings.
		args := append(where, "diff")
		if s.Color != "auto" {
			args = append(args, "--color="+s.Color)
		}
		return compare.HandOver(ctx, s, append(trees.Arguments(append(args, opts.formats...)), paths...))
	}
	changes, err := codeChanges(ctx, s, where, trees, paths, opts.formats)
	if err != nil {
		return err
	}
	return s.WriteJSON(term.Document("code-diff", term.Member("from", two.From.Address.String()), term.Member("to", two.To.Address.String()),
		term.Member("fromTree", trees.From.String()), term.Member("toTree", trees.To.String()), term.Member("changes", changes),
		term.Optional("fromBehind", behind[0]), term.Optional("toBehind", behind[1]))) // files that are older than the state
}

// codeChanges returns the files that differ between two trees, for a document. With --name-only or --name-status, it returns only the names
// and the kinds of change, and reads no file. With --stat, it returns no hunks.
func codeChanges(ctx context.Context, s *session.Session, where []string, trees compare.Trees, paths, formats []string) (any, error) {
	if slices.Contains(formats, "--name-only") || slices.Contains(formats, "--name-status") {
		return compare.PathChanges(ctx, s, where, trees, paths)
	}
	limits := files.DefaultDiffLimits()
	if slices.Contains(formats, "--stat") {
		limits = files.DiffLimits{}
	}
	return compare.FileDiffs(ctx, s, where, trees, paths, limits)
}

// splitPaths splits the arguments of diff --code into one or two addresses, and the paths after them. After -- there are only paths. Without it, the
// second argument is an address, unless a file has this name and no run or frame has this address.
func splitPaths(ctx context.Context, s *session.Session, store *timeline.Store, args []string) (addresses, paths []string) {
	if at := slices.Index(args, "--"); at > 0 { // the second one of the command line
		return args[:at], args[at+1:]
	}
	if at := slices.Index(s.Args, "--"); at >= 0 && len(s.Args)-at-1 < len(args) {
		at = len(args) - (len(s.Args) - at - 1)
		return args[:at], args[at:]
	}
	if len(args) < 2 {
		return args, nil
	}
	if _, err := os.Lstat(s.Path(args[1])); err == nil {
		if _, err := store.Load(ctx, args[1]); err != nil {
			return args[:1], args[1:]
		}
	}
	return args[:2], args[2:]
}

// warnBehindSides warns if the files of two.From or two.To are older than the state of the same frame. out[0] describes
// how the files of two.From are older, or is nil if they are not older. out[1] describes two.To in the same way.
// worktree is the name of the task whose own worktree has the files, or "" for the files that tasks share.
func warnBehindSides(ctx context.Context, s *session.Session, store *timeline.Store, two compare.Sides, worktree string) (out [2]*files.Behind, err error) {
	for i, at := range []*timeline.LoadedEntry{two.From, two.To} {
		if out[i], err = files.BehindState(ctx, store, at, worktree); err != nil {
			return out, err
		}
		if b := out[i]; b != nil {
			s.Warn(fmt.Errorf("%s has the files of frame %d: later changes by these attempts were not captured: %s",
				at.Address, b.Frame, display.BesideNames(b.Attempts)))
		}
	}
	return out, nil
}
