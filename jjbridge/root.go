package jjbridge

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/gitexec"
)

// vcsRoot is snapshot.VCS.Root: where Root is, seen from the top of the main working copy;
// "" for that one. A worktree inside it or beside it has a path with at most one leading
// "..". Anywhere else the path would tell how the machine's folders are called, so that
// it is the worktree's name.
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

// IsMain reports whether the working copy is the repository's main one.
func (w *Workspace) IsMain() bool { return w.Root == w.main }

// mainTop is the top of a git repository's main working copy. In a bare repository, which
// has linked worktrees only, it is the folder around it. "" where git does not say.
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
