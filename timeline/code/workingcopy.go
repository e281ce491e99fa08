// Package code handles the files of frames: it captures working copies, restores files, and makes and removes the
// worktrees of runs.
package code

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WorkingCopy captures the files of one working copy for the runs of a store.
type WorkingCopy struct {
	store     *timeline.Store
	workspace *jjbridge.Workspace
	leave     []string
	filled    *snapshot.VCS // see FilledWith
	rebased   bool
}

// WorkingCopyOf returns the working copy in which the store was opened. If there is no working copy,
// it captures nothing.
func WorkingCopyOf(s *timeline.Store) *WorkingCopy {
	return &WorkingCopy{store: s, workspace: s.Workspace()}
}

// WorkingCopyAt returns the working copy that dir is in. It must belong to the store's repository. Codes:
// worktree_failed if it belongs to another repository, no_working_copy if dir is not in a working copy.
func WorkingCopyAt(ctx context.Context, s *timeline.Store, dir string) (*WorkingCopy, error) {
	// Environment variables that point git at this repository are not valid for another folder.
	workspace, err := jjbridge.Locate(ctx, dir, gitexec.PlumbingEnv(s.Env()))
	if err != nil {
		return nil, fault.New(fault.NoWorkingCopy, "%s: %w", dir, err)
	}
	if workspace.Root == "" {
		return nil, fault.New(fault.NoWorkingCopy, "%s is not in a working copy", dir)
	}
	if workspace.Repo.CommonDir != s.Repo().CommonDir {
		return nil, fault.New(fault.WorktreeFailed, "%s belongs to another repository", dir).
			Hint("this repository is %s", s.Repo().CommonDir)
	}
	return &WorkingCopy{store: s, workspace: workspace}, nil
}

// Without returns a copy of c whose captures leave out the files at paths, unless the user tracks them. Paths are
// relative to the top, with slashes.
func (c *WorkingCopy) Without(paths ...string) *WorkingCopy {
	out := *c
	out.leave = paths
	return &out
}

// FilledWith returns the files with which OpenWorktree has filled the new working copy, or nil if it has not.
func (c *WorkingCopy) FilledWith() *snapshot.VCS { return c.filled }

// Root returns the top of the working copy, or "" if there is no working copy.
func (c *WorkingCopy) Root() string { return c.workspace.Root }

// Capture reads the working copy in the configured scope. It returns nil if there is no working copy. The caller
// closes the result after the append that stores it. If the files are unreadable, Capture warns and the result has
// the revision alone.
func (c *WorkingCopy) Capture(ctx context.Context) (*jjbridge.Captured, error) {
	if c.Root() == "" {
		return nil, nil //nolint:nilnil // no working copy is an answer, and no error
	}
	if c.workspace.NoJJ {
		c.store.WarnOnce(fmt.Errorf("jj was not found on PATH: git captures the files of the jj workspace %s, without their change", c.Root()))
	}
	if c.store.Settings().Scope == jjbridge.ScopeOff {
		return c.revision(ctx)
	}
	captured, err := c.read(ctx, c.store.Settings().Scope)
	if err == nil || ctx.Err() != nil {
		return captured, timeline.Explain(err)
	}
	revision, pointerErr := c.revision(ctx)
	if pointerErr != nil {
		return nil, timeline.Explain(err)
	}
	c.store.Warn(fmt.Errorf("the files of %s are not captured: %w", c.Root(), err))
	return revision, nil
}

// read captures the files of a scope.
func (c *WorkingCopy) read(ctx context.Context, scope string) (*jjbridge.Captured, error) {
	return c.workspace.Capture(ctx, jjbridge.CaptureOptions{
		Scope: scope, MaxFile: c.store.Settings().MaxFile, Leave: c.leave,
		Objects: c.store.Objects(), Warn: c.store.WarnOnce,
	})
}

// revision captures no files, only which revision the working copy is at.
func (c *WorkingCopy) revision(ctx context.Context) (*jjbridge.Captured, error) {
	vcs, err := c.workspace.Pointer(ctx)
	if err != nil || vcs == nil {
		return nil, timeline.Explain(err)
	}
	return &jjbridge.Captured{VCS: *vcs}, nil
}

// restoreConflict makes jj treat the files again as conflicted if they were in conflict when v was captured. If that
// fails, the files have conflict markers as plain text, and restoreConflict warns.
func (c *WorkingCopy) restoreConflict(ctx context.Context, v *snapshot.VCS) {
	if !v.Conflicted {
		return
	}
	done, err := jjbridge.RestoreConflict(ctx, c.workspace, v.CommitID)
	switch {
	case err != nil:
		c.store.Warn(fmt.Errorf("files that were in conflict have jj's markers as text: %w", err))
	case !done:
		c.store.Warn(fmt.Errorf("files that were in conflict have jj's markers as text: %s is not in this jj repository", v.CommitID))
	}
}

// compare warns about files that differ from want after a restore. Additional files are ones that were ignored before
// the restore and are no longer. compare reports whether no other files differ.
func (c *WorkingCopy) compare(ctx context.Context, now *jjbridge.Captured, want *snapshot.VCS) (same bool) {
	if now.VCS.Tree == want.Tree {
		return true
	}
	objects := c.store.Objects().Begin() // reads the quarantine, and is never committed
	err := now.Objects(objects)
	var differ []jjbridge.PathChange
	if err == nil {
		differ, err = ChangedFiles(ctx, objects, want.Tree, now.VCS.Tree, "")
	}
	if err != nil {
		c.store.Warn(fmt.Errorf("compare the restored files: %w", err))
		return false
	}
	differ = slices.DeleteFunc(differ, func(d jjbridge.PathChange) bool { return jjbridge.IsLeftOut(want.LeftOut, d.Path) })
	var besides, others []string
	for _, d := range differ {
		if d.Op == jjbridge.OpAdd {
			besides = append(besides, d.Path)
		} else {
			others = append(others, d.Path)
		}
	}
	if len(besides) > 0 {
		c.store.Warn(fmt.Errorf("no longer ignored, so the next capture has them: %s", someOf(besides)))
	}
	if len(others) > 0 {
		c.store.Warn(fmt.Errorf("%d of the restored files are not exactly what was captured: %s", len(others), someOf(others)))
	}
	return len(others) == 0
}

// someOf lists the first of paths and the number of the others.
func someOf(paths []string) string {
	const shown = 5
	list := strings.Join(paths[:min(shown, len(paths))], ", ")
	if more := len(paths) - shown; more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	return list
}
