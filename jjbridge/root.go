package jjbridge

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// vcsRoot returns the value of snapshot.VCS.Root. For the main working copy it is "". For a worktree inside or beside
// the main working copy, it is the worktree's path relative to the top of the main working copy, with at most one
// leading "..". For any other worktree, vcsRoot returns the worktree's name, because a path would reveal folders of the
// machine. It also returns the name if the path is not valid UTF-8.
func (w *Workspace) vcsRoot() string {
	if w.Root == w.main || w.Root == "" {
		return ""
	}
	rel, err := filepath.Rel(w.main, w.Root)
	rel = filepath.ToSlash(rel)
	if w.main == "" || err != nil || strings.HasPrefix(rel, "../..") || !utf8.ValidString(rel) {
		return strings.ToValidUTF8(w.Name, "\uFFFD")
	}
	return rel
}

// IsMain reports whether w is the repository's main working copy.
func (w *Workspace) IsMain() bool { return w.Root == w.main }

// mainTop returns the top of repo's main working copy, or "" if the top is unknown. If repo is not a linked worktree,
// the top is repo's worktree. Otherwise it is the value of core.worktree or, without this setting, the folder around
// .git. For a bare repository, which has only linked worktrees, mainTop returns the folder around the repository.
func mainTop(repo gitexec.Repo) string {
	if repo.GitDir == repo.CommonDir && repo.WorkTree != "" {
		return repo.WorkTree
	}
	if top, ok := repo.Config.Get("core.worktree"); ok {
		top = filepath.FromSlash(top)
		if !filepath.IsAbs(top) {
			top = filepath.Join(repo.CommonDir, top)
		}
		return top
	}
	bare, err := repo.Config.Bool("core.bare", false)
	if bare || err == nil && filepath.Base(repo.CommonDir) == ".git" {
		return filepath.Dir(repo.CommonDir)
	}
	return ""
}
