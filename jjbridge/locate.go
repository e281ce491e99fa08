package jjbridge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Locate finds the working copy that contains dir; it looks in dir and in the folders above. If a folder has
// both .jj and .git, the working copy is jj's if both lead to one repository, and git's otherwise: a task or a clone
// could bring a .jj that leads to a repository of its own. A .jj that git tracks does not count either. As for git, GIT_DIR and similar variables in env take
// precedence. In a bare repository and inside a git directory there is no working copy, and Type is "".
//
// The error wraps gitexec.ErrNoRepository if there is no repository, ErrBackend if jj stores its commits outside git,
// and ErrNoStore if a jj workspace leads to no repository. If PATH has no jj, a colocated workspace counts as git's;
// see Workspace.NoJJ. Locate usually runs two processes of git at the same time, and never runs jj.
func Locate(ctx context.Context, dir string, env []string) (*Workspace, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if !pointsAtRepository(env) {
		if top, kind := walk(dir); kind == snapshot.VCSJJ {
			w, err := locateJJ(ctx, top, env)
			if w != nil || err != nil {
				return w, err
			}
		}
	}
	repo, err := gitexec.Discover(ctx, dir, env)
	if err != nil {
		return nil, err
	}
	// git may find another repository than walk, because of GIT_DIR, or because a .git is not a repository.
	if repo.WorkTree != "" && isFolder(filepath.Join(repo.WorkTree, ".jj")) {
		if link, err := readJJ(repo.WorkTree); err == nil && link.leadsTo(repo) {
			if obeyed, err := link.obeyed(ctx, env); err != nil || obeyed {
				return link.workspace(repo, env), err
			}
		}
	}
	return gitWorkspace(repo, env), nil
}

// IsRepo reports whether dir is inside a working copy. It runs no command. If dir does not exist, IsRepo
// returns false.
func IsRepo(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false
	}
	_, kind := walk(dir)
	return kind != ""
}

// walk returns the top of the working copy that contains dir, and its kind: snapshot.VCSJJ or
// snapshot.VCSGit. If there is no working copy, or walk meets a git directory first, both are "".
func walk(dir string) (top, kind string) {
	for {
		if isFolder(filepath.Join(dir, ".jj")) {
			return dir, snapshot.VCSJJ
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, snapshot.VCSGit
		}
		parent := filepath.Dir(dir)
		if parent == dir || isGitDir(dir) {
			return "", ""
		}
		dir = parent
	}
}

// locateJJ returns the working copy at top, a folder with a .jj. If a git repository that lies in top is the one in which
// jj stores commits, top is a colocated workspace; if it is another one, top is git's. If there is none, the repository
// is the git directory that jj names, and top becomes its worktree. The result is nil if git is to find the repository
// and top does not count.
func locateJJ(ctx context.Context, top string, env []string) (*Workspace, error) {
	link, broken := readJJ(top)
	if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
		repo, err := gitexec.Discover(ctx, top, env)
		switch {
		case err == nil && repo.WorkTree == top:
			obeyed := broken == nil && link.leadsTo(repo)
			if obeyed {
				if obeyed, err = link.obeyed(ctx, env); err != nil {
					return nil, err
				}
			}
			if !obeyed {
				return gitWorkspace(repo, env), nil
			}
			return link.colocated(repo, env), nil
		case err != nil && !errors.Is(err, gitexec.ErrNoRepository):
			return nil, err
		}
	}
	if broken != nil {
		return nil, broken
	}
	if obeyed, err := link.obeyed(ctx, env); err != nil || !obeyed {
		return nil, err
	}
	repo, err := gitexec.DiscoverGitDir(ctx, link.target, env)
	if err != nil {
		return nil, err
	}
	repo.GitDir, repo.WorkTree = repo.CommonDir, top
	return link.workspace(repo, env), nil
}

// gitWorkspace returns the working copy of repo, a repository that git found. If repo has no worktree, the Type
// and the Root of the result are "". In a linked worktree, Name is git's name of the worktree.
func gitWorkspace(repo gitexec.Repo, env []string) *Workspace {
	w := &Workspace{Repo: repo, Root: repo.WorkTree, env: env}
	if w.Root == "" {
		return w
	}
	w.Type, w.main = snapshot.VCSGit, mainTop(repo)
	if repo.GitDir != repo.CommonDir {
		w.Name = filepath.Base(repo.GitDir)
	}
	return w
}

// pointsAtRepository reports whether env sets GIT_DIR or GIT_WORK_TREE to a value that is not empty. These
// variables determine the repository and the working copy that git uses.
func pointsAtRepository(env []string) bool {
	return slices.ContainsFunc(env, func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return value != "" && (name == "GIT_DIR" || name == "GIT_WORK_TREE")
	})
}

// isGitDir reports whether dir is a git directory: whether it contains HEAD, objects and refs.
func isGitDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && isFolder(filepath.Join(dir, "objects")) && isFolder(filepath.Join(dir, "refs"))
}

// isFolder reports whether path leads to a folder, perhaps through symbolic links.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
