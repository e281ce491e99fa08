package cli

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// worktrees makes or finds the worktrees that a run asks for.
func (s *session) worktrees(store *timeline.Store, run string, settings engineSettings) func(
	context.Context, timeline.WorktreeSpec, bool,
) (engine.WorkingCopy, error) {
	return func(ctx context.Context, spec timeline.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
		if settings.baseFiles && spec.Fill {
			spec.Fill = false
			if spec.Name != "" { // those that tasks share are compared
				s.warn(fmt.Errorf("the worktree of task %s has the files of its base, and not those of the frame; %s", spec.Name, settings.bringFiles))
			}
		}
		opened, err := store.OpenWorktree(ctx, run, spec, rebase)
		if err != nil {
			return nil, err
		}
		if files := opened.FilledWith(); files != nil {
			s.tellFilled(run, opened.Root(), files)
		}
		return opened, nil
	}
}

// tellFilled tells that a worktree was made with the files of a run's newest frame, and which files the frame does not have.
func (s *session) tellFilled(run, root string, files *snapshot.VCS) {
	s.note("made %s, with the files of the newest frame of run %s", plain(root), plain(run))
	if len(files.LeftOut) > 0 {
		s.warn(fmt.Errorf("not captured, and so not in %s: %s", root, listNames(leftOutNames(files.LeftOut))))
	}
}

// inOwnWorktree is ", in <folder>" if the tasks of a run share a worktree of its own that is not the working copy
// in which the command was called, and if anybody is to be told; else "".
func (s *session) inOwnWorktree(store *timeline.Store, head *timeline.Head) string {
	if s.quiet || s.json {
		return ""
	}
	own, err := timeline.OwnWorktreeOf(store, head)
	switch {
	case err != nil:
		s.warn(err)
		return ""
	case own == nil || own.Path == store.WorkTree():
		return ""
	case own.Path == "":
		return ", in a worktree of its own"
	}
	return ", in " + plain(own.Path)
}
