package compare

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/files"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Trees has the ids of the trees with the files of two frames.
type Trees struct{ From, To objstore.ID }

// Arguments returns the arguments of a git command that compares the two trees: args, the ids of the trees, and "--".
// The caller may append paths.
func (t Trees) Arguments(args []string) []string {
	return append(args, t.From.String(), t.To.String(), "--")
}

// Trees returns the trees with the files of From and To. From and To must not be nil. worktree is the name of the task
// whose own worktree is compared, or "" for the files that tasks share. The error is no_code if From or To has no such
// files. Trees also returns an error if files.CheckChanges finds that the comparison is too large.
func (c Sides) Trees(ctx context.Context, store *timeline.Store, worktree string) (out Trees, err error) {
	if out.From, err = codeTree(c.From, worktree); err != nil {
		return out, err
	}
	if out.To, err = codeTree(c.To, worktree); err != nil {
		return out, err
	}
	return out, files.CheckChanges(ctx, store, out.From, out.To)
}

// PathChanges returns the paths that differ between two trees, sorted as git sorts them. where has the options that
// WhereForGit returned. If paths is not empty, PathChanges compares only these paths. If there is no error, the result
// is not nil.
func PathChanges(ctx context.Context, s *session.Session, where []string, trees Trees, paths []string) ([]jjbridge.PathChange, error) {
	args := trees.Arguments(append(slices.Clone(where), "diff-tree", "-r", "-z", "--name-status", "--no-renames"))
	out, err := s.Git(ctx, append(args, paths...)...)
	if err != nil {
		return nil, gitDiffFailed(ctx, err)
	}
	return append([]jjbridge.PathChange{}, readNameStatus(out)...), nil
}

// codeTree returns the tree with the files of the loaded frame. worktree is the name of the task whose own worktree has
// the files, or "" for the files that tasks share. The error is no_code if the frame has no such files.
func codeTree(loaded *timeline.LoadedEntry, worktree string) (objstore.ID, error) {
	vcs, err := loaded.Entry.VCSRevision()
	if err != nil {
		return objstore.ID{}, err
	}
	at := loaded.Address.String()
	if worktree != "" {
		if vcs = ownWorktree(vcs, worktree); vcs == nil || vcs.Tree.IsZero() {
			return objstore.ID{}, fault.New(fault.NoCode, "%s has no worktree of task %q", at, worktree).
				Hint("`%s show %s` lists the worktrees of the frame", arg.Program, fault.Word(at)).Detail("frame", at)
		}
	}
	if vcs == nil || vcs.Tree.IsZero() {
		return objstore.ID{}, fault.New(fault.NoCode, "%s has no files", at).
			Hint("%s", files.WhenCaptured(loaded.Entry)).Detail("frame", at)
	}
	return vcs.Tree, nil
}

// ownWorktree returns the revision of the task's own worktree, or nil if vcs is nil or has no worktree of this task.
// task is the name of the task.
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
