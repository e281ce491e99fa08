package app

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/files"
)

// worktree opens the worktree of a run that spec describes, and makes it if it does not exist. If rebase is true, an
// existing worktree is rebased, as files.OpenWorktree says. If a new worktree gets the files of a frame, worktree passes a
// note to the teller. worktree equips a new worktree (see Equip). Tasks call worktree while the engine moves e.head, so worktree does not read e.head.
//
// If e.baseFiles is true, a new worktree gets the files of its base, even if spec asks for the files of the frame. If
// such a worktree belongs to a task, worktree warns.
func (e *execution) worktree(ctx context.Context, run string, spec files.WorktreeSpec, rebase bool) (engine.WorkingCopy, error) {
	if e.baseFiles && spec.Fill {
		spec.Fill = false
		if spec.Name != "" { // the engine itself compares the worktree that tasks share
			e.Teller.Warn(fmt.Errorf("the worktree of task %s has the files of its base, not the files of the frame; %s", spec.Name, e.bringFiles))
		}
	}
	opened, err := files.OpenWorktree(ctx, e.Store, run, spec, rebase)
	if err != nil {
		return nil, err
	}
	if files := opened.FilledWith(); files != nil {
		e.Teller.Note(ctx, FilledNote{run, opened.Root(), files})
	}
	if _, err := e.Equip(ctx, opened, files.Equipment{Setup: spec.Setup, Confined: e.confined}); err != nil {
		return nil, err
	}
	return opened.For(run, ""), nil
}

// Equip equips a new working copy as files.WorkingCopy.Equip does, and passes a note about it to the teller. It sets the functions of how.
func (d *Desk) Equip(ctx context.Context, wc *files.WorkingCopy, how files.Equipment) (files.Equipped, error) {
	update, over := d.Teller.Count(BringingFiles)
	how.Update = update
	how.Began = func() {
		over()
		over = d.Teller.While(SettingUp)
	}
	done, err := wc.Equip(ctx, how)
	over()
	if done.Root != "" {
		d.Teller.Note(ctx, EquippedNote{done})
	}
	return done, err
}
