package app

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/engine"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// worktree opens a worktree that the run asks for, and makes it if it does not exist. If the files of a frame fill
// the new worktree, worktree tells the teller.
func (e *execution) worktree(ctx context.Context, spec code.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
	if e.baseFiles && spec.Fill {
		spec.Fill = false
		if spec.Name != "" { // the engine itself compares the worktree that tasks share
			e.Teller.Warn(fmt.Errorf("the worktree of task %s has the files of its base, not the files of the frame; %s", spec.Name, e.bringFiles))
		}
	}
	run := e.head.Row().ID
	opened, err := code.OpenWorktree(ctx, e.Store, run, spec, rebase)
	if err != nil {
		return nil, err
	}
	if files := opened.FilledWith(); files != nil {
		e.Teller.Note(ctx, FilledNote{run, opened.Root(), files})
	}
	return opened, nil
}
