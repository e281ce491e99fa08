package timeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WorktreeSpec is the worktree that a workflow or a task asks for.
type WorktreeSpec struct {
	Name   string // in vcs.json and worktrees/<name>: the task's id, or "" for the workflow's own
	Path   string // relative to the top of the working copy, or absolute; "" chooses one beside it
	Branch string // "" for none
	Base   string // "" means main
}

// OpenWorktree makes the worktree that a run asks for, or finds the one that it made
// before. With rebase, one that was found is put on its base as that is now; when
// that fails it is left as it was, with a warning. worktree_failed where it cannot be
// made, unsaved_work where what is in its place cannot go.
func (s *Store) OpenWorktree(ctx context.Context, run string, spec WorktreeSpec, rebase bool) (*WorkingCopy, error) {
	made, err := s.madeWorktree(run, spec.Name)
	if err != nil {
		return nil, Explain(err)
	}
	if made != nil {
		found, err := s.reopenWorktree(ctx, *made)
		if err != nil {
			return nil, err
		}
		if found != nil {
			if rebase {
				found.rebase(ctx, spec.Base)
			}
			return found, nil
		}
	}
	return s.makeWorktree(ctx, run, spec)
}

// reopenWorktree finds a worktree that a run made; nil where its folder is gone. One
// whose making did not end is removed.
func (s *Store) reopenWorktree(ctx context.Context, made madeWorktree) (*WorkingCopy, error) {
	if isMissing(made.Path) {
		return nil, nil //nolint:nilnil // that it is gone is an answer, and no error
	}
	if made.Begun {
		info := jjbridge.WorkspaceInfo{Path: made.Path}
		if list, err := s.workspace.Workspaces(ctx); err != nil {
			return nil, Explain(err)
		} else if known, ok := workspaceAt(list, made.Path); ok {
			info = known
		}
		return nil, Explain(s.workspace.ForgetWorkspace(ctx, info, objstore.ID{}))
	}
	found, err := s.WorkingCopyAt(ctx, made.Path)
	if err != nil {
		return nil, err
	}
	if found.Root() != made.Path {
		return nil, fault.New(fault.WorktreeFailed, "%s is no worktree any more", made.Path).
			Hint("move the folder away, and the run makes its worktree anew")
	}
	return found, nil
}

// makeWorktree makes a worktree and notes that the run did. The note comes first, so
// that a worktree whose maker dies is known as what it is.
func (s *Store) makeWorktree(ctx context.Context, run string, spec WorktreeSpec) (*WorkingCopy, error) {
	path, err := s.worktreePath(run, spec)
	if err != nil {
		return nil, err
	}
	if err := s.checkNotMade(run, spec.Name, path); err != nil {
		return nil, err
	}
	made := madeWorktree{Run: run, Name: spec.Name, Path: path, Begun: true}
	if err := s.putMade(made); err != nil {
		return nil, Explain(err)
	}
	workspace, err := s.workspace.AddWorkspace(ctx, jjbridge.AddRequest{Path: path, Branch: spec.Branch, Base: spec.Base})
	if err != nil {
		return nil, errors.Join(Explain(err), s.dropMade(made))
	}
	made.Path, made.Begun = workspace.Root, false
	return &WorkingCopy{store: s, workspace: workspace}, Explain(s.putMade(made))
}

// worktreePath is where a worktree is made.
func (s *Store) worktreePath(run string, spec WorktreeSpec) (string, error) {
	switch path := filepath.FromSlash(spec.Path); {
	case spec.Path == "":
		names := []string{run}
		if spec.Name != "" {
			names = append(names, spec.Name)
		}
		return s.besideTop(names)
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	case s.workspace.Root == "":
		return "", fault.New(fault.NoWorkingCopy, "there is no working copy that the worktree %q could be in or beside", spec.Path)
	default:
		return filepath.Join(s.workspace.Root, path), nil
	}
}

// checkNotMade refuses a folder in which another run's worktree, or another task's, is.
func (s *Store) checkNotMade(run, name, path string) error {
	all, err := s.allMade()
	if err != nil {
		return Explain(err)
	}
	for _, made := range all {
		if made.Path != path || made.Run == run && made.Name == name && !made.Checkout || isMissing(made.Path) {
			continue
		}
		return fault.New(fault.WorktreeFailed, "%s is a worktree of run %q already", path, made.Run).
			Hint("`git smithers worktrees prune %s` removes it, unless there is unsaved work in it", fault.Word(made.Run)).
			Detail("path", path).Detail("runId", made.Run)
	}
	return nil
}

// rebase puts the working copy on its base as that is now. Trouble is a warning.
func (c *WorkingCopy) rebase(ctx context.Context, base string) {
	if err := c.workspace.Rebase(ctx, base); err != nil {
		c.store.warn(fmt.Errorf("rebase of %s: %w", c.Root(), err))
	}
}

func workspaceAt(list []jjbridge.WorkspaceInfo, path string) (jjbridge.WorkspaceInfo, bool) {
	for _, info := range list {
		if info.Path == path {
			return info, true
		}
	}
	return jjbridge.WorkspaceInfo{}, false
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
