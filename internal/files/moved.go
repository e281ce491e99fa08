package files

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/jjbridge/worktrees"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// madeMark is a file in git's own record of a worktree, with the name of our record. git moves it with its record and removes it with
// it, so a later worktree of the same name is not taken for the run's.
const madeMark = "smithers-made"

// mark notes which record of git is the worktree's, so that the worktree is found where git has moved it. jj workspaces have no
// such record.
func (m *madeWorktree) mark(s *timeline.Store, workspace *jjbridge.Workspace) error {
	if workspace.Type == snapshot.VCSJJ || workspace.IsMain() {
		return nil
	}
	m.Record = filepath.Base(workspace.Repo.GitDir)
	beside, err := filepath.Rel(s.Repo().CommonDir, workspace.Root)
	if err == nil {
		m.Beside = filepath.ToSlash(beside)
	}
	return os.WriteFile(filepath.Join(workspace.Repo.GitDir, madeMark), []byte(m.file()+"\n"), 0o666) //nolint:gosec // as git does: the umask decides
}

// follow sets Path to the folder that git's record of the worktree names, if git still has this record.
func (m *madeWorktree) follow(s *timeline.Store) {
	if m.Record == "" {
		return
	}
	marked, err := os.ReadFile(filepath.Join(s.Repo().CommonDir, "worktrees", m.Record, madeMark))
	if err != nil || strings.TrimSuffix(string(marked), "\n") != m.file() {
		return
	}
	if path, err := worktrees.PathOf(s.Repo().CommonDir, m.Record); err == nil {
		m.Path = path
	}
}

// checkNotBeside returns worktree_failed if the worktree is missing where git has it, and is where it must be if it was moved together with
// the repository, without git's knowledge.
func (m *madeWorktree) checkNotBeside(s *timeline.Store) error {
	if m.Beside == "" || !isMissing(m.Path) {
		return nil
	}
	path := filepath.Join(s.Repo().CommonDir, filepath.FromSlash(m.Beside))
	link, err := os.ReadFile(filepath.Join(path, ".git"))
	if err != nil || filepath.Base(strings.TrimSpace(string(link))) != m.Record {
		return nil //nolint:nilerr // another folder, or none
	}
	return fault.New(fault.WorktreeFailed, "the worktree of run %q was moved to %s, and git looks for it at %s", m.Run, path, m.Path).
		Hint("tell git: `git worktree repair %s`", fault.Word(path)).
		Detail("path", path).Detail("runId", m.Run)
}
