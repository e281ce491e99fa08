package worktrees

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
)

// fetchJJ fetches from the remotes from which jj fetches by default. Without a remote it does nothing. The error is a
// *FetchError.
func fetchJJ(ctx context.Context, w *jjbridge.Workspace) error {
	for key := range w.Repo.Config {
		if !strings.HasPrefix(key, "remote.") || !strings.HasSuffix(key, ".url") {
			continue
		}
		if _, _, err := w.RunJJ(ctx, "git", "fetch", "--quiet"); err != nil {
			return &FetchError{Err: err}
		}
		return nil
	}
	return nil
}

// rebaseJJ rebases the workspace's commits, including the working copy's own commit, on base, as one operation. It does
// not rebase in these cases:
//   - If there is no base, it does nothing.
//   - If another working copy is based on the same commits, it returns an *Error.
//   - If the commits are based on base already, it does nothing.
//   - If base has all of the commits, it makes a new change on base.
//
// If the rebase makes new conflicts, rebaseJJ reverts the operation and returns an *Error. If jj cannot rebase
// the commits, the error is an *Error, too.
func rebaseJJ(ctx context.Context, w *jjbridge.Workspace, base string) error {
	onto, err := currentBaseJJ(ctx, w, base)
	if errors.Is(err, jjbridge.ErrStale) {
		// Another workspace has rebased this workspace's commit. jj updates the files and keeps uncommitted changes.
		if _, _, err := w.RunJJ(ctx, "workspace", "update-stale"); err != nil {
			return err
		}
		onto, err = currentBaseJJ(ctx, w, base)
	}
	if err != nil || onto == "" {
		return err
	}
	own, err := findOwn(ctx, w, onto)
	if err != nil {
		return err
	}
	switch {
	case own.shared:
		return &Error{Path: w.Root, Reason: "not rebased, because another working copy is based on the same commits"}
	case own.based:
		return nil
	case own.count == 0: // the base has all commits of the workspace
		_, _, err = w.RunJJ(ctx, "new", "--", onto)
		return err
	}
	if _, _, err := w.RunJJ(ctx, "rebase", "-s", "roots("+onto+"..@)", "-d", onto); err != nil {
		return &Error{Path: w.Root, Reason: "not rebased", Err: err}
	}
	now, err := findOwn(ctx, w, onto)
	if err != nil || now.conflicts <= own.conflicts {
		return err
	}
	if err := revertRebase(context.WithoutCancel(ctx), w); err != nil {
		return &Error{Path: w.Root, Reason: "the rebase made conflicts and could not be reverted: run `jj undo`", Err: err}
	}
	return &Error{Path: w.Root, Reason: "not rebased, because there would be conflicts"}
}

// currentBaseJJ returns the present commit of the bookmark base. It uses the local bookmark or, if the local bookmark
// is missing or behind, the remote bookmark. If both bookmarks are missing, currentBaseJJ looks for main in the same
// way. If main is missing, too, the result is "". jj takes a snapshot first.
func currentBaseJJ(ctx context.Context, w *jjbridge.Workspace, base string) (string, error) {
	var revsets []string
	for _, name := range bases(base) {
		here, there := local(name), remote(name)
		revsets = append(revsets, there+" & "+here+"::", here, there) // remote if it is ahead, then local, then remote
	}
	out, _, err := w.RunJJ(ctx, "log", "--no-graph", "--limit=1", "--template=commit_id",
		"--revisions=latest(coalesce("+strings.Join(revsets, ", ")+"))")
	return strings.TrimSpace(string(out)), err
}

// ownCommits describes the commits of a workspace that its base does not have.
type ownCommits struct {
	count     int
	conflicts int  // the number of commits with conflicts
	shared    bool // another workspace's commit is one of these commits or descends from one
	based     bool // the base is an ancestor of the workspace's commit
}

// ownTemplate prints a line for each commit: "shared" or "", a space, and "conflict" or "".
const ownTemplate = `if(self.contained_in("::(working_copies() ~ @)"), "shared") ++ " " ++ if(conflict, "conflict") ++ "\n"`

// findOwn returns the facts about the workspace's own commits: the commits that @ reaches and the commit baseID does
// not reach. findOwn takes no snapshot, because the caller has just taken one.
func findOwn(ctx context.Context, w *jjbridge.Workspace, baseID string) (ownCommits, error) {
	var own ownCommits
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--revisions="+baseID+"..@", "--template="+ownTemplate)
	if err != nil {
		return own, err
	}
	for line := range strings.Lines(string(out)) {
		own.count++
		own.shared = own.shared || strings.HasPrefix(line, "shared")
		if strings.HasSuffix(line, "conflict\n") {
			own.conflicts++
		}
	}
	out, _, err = w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--revisions="+baseID+" & ::@", "--template=commit_id")
	own.based = len(out) > 0
	return own, err
}

// revertRebase reverts the newest rebase in the operation log, and the files with it. The newest rebase is the rebase
// of rebaseJJ, unless another process rebased at the same moment. If the last ten operations have no rebase,
// revertRebase returns an error.
func revertRebase(ctx context.Context, w *jjbridge.Workspace) error {
	out, _, err := w.RunJJ(ctx, "operation", "log", "--ignore-working-copy", "--no-graph", "--limit=10",
		`--template=id ++ " " ++ description.first_line() ++ "\n"`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		id, what, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(what, "rebase") {
			continue
		}
		_, _, err := w.RunJJ(ctx, "operation", "revert", id)
		if failed, ok := errors.AsType[*gitexec.Error](err); ok && jjbridge.IsUnknownToJJ(failed.Stderr) { // an older jj
			_, _, err = w.RunJJ(ctx, "operation", "undo", id)
		}
		return err
	}
	return errors.New("jj's operation log does not show the rebase")
}
