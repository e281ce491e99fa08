package jjbridge

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
)

// moduleMove is a submodule and the commit to which a restore moves it.
type moduleMove struct {
	dir    string // of its working copy
	commit objstore.ID
}

// moduleMoves returns the submodules, including nested submodules, that the edits move to another commit, and the
// reasons against these moves. root is the top of the working copy with the edits. prefix is root's path in the
// outermost working copy, with a final slash, or "". moduleMoves skips a submodule that is not checked out. If an edit
// adds such a submodule at the path of a folder with files, this folder is a reason against the restore.
func moduleMoves(ctx context.Context, w *Workspace, root, prefix string, edits []edit) ([]moduleMove, []Refusal, error) {
	var moves []moduleMove
	var refused []Refusal
	for _, e := range edits {
		if !e.to.isModule() {
			continue
		}
		dir := filepath.Join(root, filepath.FromSlash(e.path))
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 && !e.from.isModule() {
				refused = append(refused, Refusal{prefix + e.path, "a folder that was not captured is in the way"})
			}
			continue
		}
		inner, reasons, err := movesOf(ctx, w, dir, prefix+e.path, e.to.id)
		if err != nil {
			return nil, nil, err
		}
		moves, refused = append(moves, inner...), append(refused, reasons...)
	}
	return moves, refused, nil
}

// movesOf returns the moves that bring the checked-out submodule at dir to the given commit: the move of this
// submodule, and the moves of the submodules inside it. It also returns the reasons against these moves, such as
// uncommitted changes or a missing commit. name is the submodule's path in the reasons. If the submodule is already at
// the commit, there are no moves.
func movesOf(ctx context.Context, w *Workspace, dir, name string, commit objstore.ID) ([]moduleMove, []Refusal, error) {
	git := moduleGit{dir: dir, env: w.gitEnv(), config: w.Repo.Config}
	refuse := func(reason string) ([]moduleMove, []Refusal, error) {
		// git may also have failed because ctx has ended.
		return nil, []Refusal{{name, reason}}, ctx.Err()
	}
	head, err := git.run(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if err != nil {
		return refuse("the submodule has no commit checked out")
	}
	from := strings.TrimSpace(string(head))
	if from == commit.String() {
		return nil, nil, nil
	}
	status, err := git.run(ctx, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=none", "--no-renames")
	if err != nil {
		return nil, nil, err
	}
	if len(status) > 0 {
		return refuse("the submodule has uncommitted changes")
	}
	if _, err := git.run(ctx, "cat-file", "-e", commit.String()+"^{commit}"); err != nil {
		return refuse("the submodule has no commit " + commit.String() + "; fetch the commit in the submodule first")
	}
	out, err := git.run(ctx, diffTreeArgs(from, commit.String())...)
	if err != nil {
		return nil, nil, err
	}
	edits, err := parseEdits(out)
	if err != nil {
		return nil, nil, err
	}
	found := newObstacles(dir, edits, foldsCase(w), nil)
	found.find()
	for i := range found.refused {
		found.refused[i].Path = name + "/" + found.refused[i].Path
	}
	moves, refused, err := moduleMoves(ctx, w, dir, name+"/", edits)
	return append([]moduleMove{{dir, commit}}, moves...), append(found.refused, refused...), err
}

// UnsentModuleCommits returns the commits of the submodule at path that no remote of the submodule was seen to have. It leaves out commits
// that the submodule lacks, and returns none if the submodule is not checked out. If unsent is not empty, remotes has the submodule's remotes.
func (w *Workspace) UnsentModuleCommits(ctx context.Context, path string, commits []objstore.ID) (unsent []objstore.ID, remotes []string, err error) {
	dir := w.full(path)
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || !filepath.IsLocal(filepath.FromSlash(path)) {
		return nil, nil, nil //nolint:nilerr // nothing is known of it
	}
	args := []string{"rev-list", "--ignore-missing"}
	for _, id := range commits {
		args = append(args, id.String())
	}
	git := moduleGit{dir: dir, env: append(w.gitEnv(), "GIT_NO_LAZY_FETCH=1"), config: w.Repo.Config}
	out, err := git.run(ctx, append(args, "--not", "--remotes")...)
	for _, id := range commits {
		if strings.Contains(string(out), id.String()) {
			unsent = append(unsent, id)
		}
	}
	if len(unsent) > 0 && err == nil {
		out, err = git.run(ctx, "remote")
		remotes = strings.Fields(string(out))
	}
	return unsent, remotes, err
}

// checkout moves the submodule to m.commit, with a detached HEAD. git does not change nested submodules, and fails if
// it would overwrite an ignored file.
func (m moduleMove) checkout(ctx context.Context, w *Workspace) error {
	_, err := moduleGit{dir: m.dir, env: w.gitEnv(), config: w.Repo.Config}.run(ctx,
		"checkout", "--quiet", "--detach", "--no-overwrite-ignore", "--no-recurse-submodules", m.commit.String())
	return err
}

// moduleGit runs git in a submodule.
type moduleGit struct {
	dir    string
	env    []string
	config gitexec.Config // of the repository around it
}

// run runs git with args in the submodule and returns git's standard output. The error is a *gitexec.Error.
func (g moduleGit) run(ctx context.Context, args ...string) ([]byte, error) {
	dotGit := filepath.Join(g.dir, ".git")
	out, _, err := gitexec.Process{
		Dir: g.dir, Env: g.env, Args: args,
		Options: append(gitSettings(g.config), "--git-dir="+dotGit, "--work-tree="+g.dir),
	}.Run(ctx)
	return out, err
}
