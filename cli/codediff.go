package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// codeDiffOptions are what diff --code takes.
type codeDiffOptions struct {
	worktree string   // a task's own; "": the files of the run
	formats  []string // options of git diff
}

// codeDiffDocument is what diff --code prints with --json.
type codeDiffDocument struct {
	Kind     string                `json:"kind"`
	From     string                `json:"from"`
	To       string                `json:"to"`
	FromTree string                `json:"fromTree"`
	ToTree   string                `json:"toTree"`
	Changes  []jjbridge.PathChange `json:"changes"`
	// FromBehind and ToBehind say by what the files of a frame are older than its state.
	FromBehind *code.Behind `json:"fromBehind,omitempty"`
	ToBehind   *code.Behind `json:"toBehind,omitempty"`
}

// runCodeDiff shows how the files of two frames differ. For people it is the user's
// own git diff, with their pager, colours and settings.
func runCodeDiff(ctx context.Context, s *session, store *timeline.Store, args []string, opts codeDiffOptions) error {
	addresses, paths := s.splitPaths(ctx, store, args)
	two, err := loadSides(ctx, store, addresses)
	if err != nil {
		return err
	}
	if two.from == nil {
		return fault.New(fault.NoCode, "%s is the run's first frame: there are no files before it", two.to.Address).
			Hint("`%s restore %s --to DIR` shows the files that it has", program, fault.Word(two.to.Address.String()))
	}
	trees, err := two.trees(ctx, store, opts.worktree)
	if err != nil {
		return err
	}
	behind, err := s.warnBehindSides(ctx, store, two, opts.worktree)
	if err != nil {
		return err
	}
	where, err := s.whereForGit(ctx, store)
	if err != nil {
		return err
	}
	if !s.JSON {
		args := append(where, "diff")
		if s.Color != "auto" {
			args = append(args, "--color="+s.Color)
		}
		return s.handOver(ctx, append(trees.arguments(append(args, opts.formats...)), paths...))
	}
	changes, err := s.pathChanges(ctx, where, trees, paths)
	if err != nil {
		return err
	}
	return s.WriteJSON(codeDiffDocument{
		"code-diff", two.from.Address.String(), two.to.Address.String(), trees.from.String(), trees.to.String(), changes,
		behind[0], behind[1],
	})
}

// splitPaths splits the arguments of diff --code into one or two addresses and the paths. What follows the first address
// is a path if it is no address and there is such a file.
func (s *session) splitPaths(ctx context.Context, store *timeline.Store, args []string) (addresses, paths []string) {
	if len(args) < 2 {
		return args, nil
	}
	if _, err := os.Lstat(s.path(args[1])); err == nil {
		if _, err := store.Load(ctx, args[1]); err != nil {
			return args[:1], args[1:]
		}
	}
	return args[:2], args[2:]
}

// changedTrees are the files of two frames.
type changedTrees struct{ from, to objstore.ID }

// arguments adds the trees to the arguments of a git command; paths may follow.
func (t changedTrees) arguments(args []string) []string {
	return append(args, t.from.String(), t.to.String(), "--")
}

// trees finds the files of both sides, those of a task's own worktree if one is named. A comparison that is too large is
// refused.
func (c comparison) trees(ctx context.Context, store *timeline.Store, worktree string) (out changedTrees, err error) {
	if out.from, err = codeTree(c.from, worktree); err != nil {
		return out, err
	}
	if out.to, err = codeTree(c.to, worktree); err != nil {
		return out, err
	}
	return out, code.CheckChanges(ctx, store, out.from, out.to)
}

// pathChanges lists the paths that differ.
func (s *session) pathChanges(ctx context.Context, where []string, trees changedTrees, paths []string) ([]jjbridge.PathChange, error) {
	args := trees.arguments(append(slices.Clone(where), "diff-tree", "-r", "-z", "--name-status", "--no-renames"))
	out, err := s.Git(ctx, append(args, paths...)...)
	if err != nil {
		return nil, gitDiffFailed(ctx, err)
	}
	return append([]jjbridge.PathChange{}, readNameStatus(out)...), nil
}

// codeTree is the tree of the files of a frame, or of those of a task's own worktree.
func codeTree(loaded *timeline.Loaded, worktree string) (objstore.ID, error) {
	vcs, err := loaded.Entry.VCSRevision()
	if err != nil {
		return objstore.ID{}, err
	}
	at := loaded.Address.String()
	if worktree != "" {
		if vcs = ownWorktree(vcs, worktree); vcs == nil || vcs.Tree.IsZero() {
			return objstore.ID{}, fault.New(fault.NoCode, "%s has no worktree of task %q", at, worktree).
				Hint("`%s show %s` lists those that it has", program, fault.Word(at)).Detail("frame", at)
		}
	}
	if vcs == nil || vcs.Tree.IsZero() {
		return objstore.ID{}, fault.New(fault.NoCode, "%s has no files", at).
			Hint("%s", code.WhenCaptured(loaded.Entry)).Detail("frame", at)
	}
	return vcs.Tree, nil
}

// warnBehindSides warns if the files of a side are older than its state, and returns by what, from first.
func (s *session) warnBehindSides(ctx context.Context, store *timeline.Store, two comparison, worktree string) (out [2]*code.Behind, err error) {
	for i, at := range []*timeline.Loaded{two.from, two.to} {
		if out[i], err = code.FilesBehind(ctx, store, at, worktree); err != nil {
			return out, err
		}
		if b := out[i]; b != nil {
			s.Warn(fmt.Errorf("the files of %s are those of frame %d; what was not captured: %s", at.Address, b.Frame, besideNames(b.Attempts)))
		}
	}
	return out, nil
}

// ownWorktree is what vcs says of a task's own worktree; nil where it says nothing.
func ownWorktree(vcs *snapshot.VCS, task string) *snapshot.VCS {
	if vcs == nil {
		return nil
	}
	i := slices.IndexFunc(vcs.Worktrees, func(w snapshot.Worktree) bool { return w.Name == task })
	if i < 0 {
		return nil
	}
	return &vcs.Worktrees[i].VCS
}

// whereForGit tells git where the repository is, where it would not find it by itself:
// in a jj workspace without a .git, and beside a store for run history alone.
func (s *session) whereForGit(ctx context.Context, store *timeline.Store) ([]string, error) {
	here, err := jjbridge.Locate(ctx, s.Dir, s.Env)
	if fault.CodeOf(timeline.Explain(err)) == fault.NoRepository {
		return []string{"--git-dir=" + store.CommonDir()}, nil
	}
	if err != nil || here.Type != snapshot.VCSJJ {
		return nil, timeline.Explain(err)
	}
	return []string{"--git-dir=" + here.Repo.GitDir, "--work-tree=" + here.Root}, nil
}

// handOver runs git with the streams of this process. An interrupt is git's and its
// pager's, whose keys are the user's. A signal to terminate came to this process alone, and
// is passed on.
func (s *session) handOver(ctx context.Context, args []string) error {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() {
		if sig, ok := errors.AsType[*signalError](context.Cause(ctx)); ok && sig.signal == syscall.SIGTERM {
			end()
		}
	})()
	cmd := exec.CommandContext(running, "git", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Dir, s.Env, nil, s.RawOut(), s.Err
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	return gitDiffFailed(ctx, cmd.Run())
}

// gitDiffFailed gives what became of git its code. That nobody reads on is no failure.
func gitDiffFailed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGPIPE {
			return term.ErrOutputClosed
		}
	}
	return fault.New(fault.GitFailed, "git diff failed: %w", err).Hint("git has said why")
}

// readNameStatus reads the output of git diff-tree -z --name-status.
func readNameStatus(out string) []jjbridge.PathChange {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	var list []jjbridge.PathChange
	for i := 0; i+1 < len(fields); i += 2 {
		op := jjbridge.OpModify
		switch fields[i] {
		case "A":
			op = jjbridge.OpAdd
		case "D":
			op = jjbridge.OpRemove
		}
		list = append(list, jjbridge.PathChange{Path: fields[i+1], Op: op})
	}
	return list
}
