// Package code is the files of frames: it captures working copies, brings files back, and makes and removes the
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

// WorkingCopyAt is the working copy that dir is in, another one of this repository.
// worktree_failed where it is another repository's, no_working_copy where it is none.
func WorkingCopyAt(ctx context.Context, s *timeline.Store, dir string) (*WorkingCopy, error) {
	// What points git at this repository says nothing of another folder.
	workspace, err := jjbridge.Locate(ctx, dir, gitexec.PlumbingEnv(s.Env()))
	if err != nil {
		return nil, fault.New(fault.NoWorkingCopy, "%s: %w", dir, err)
	}
	if workspace.Root == "" {
		return nil, fault.New(fault.NoWorkingCopy, "%s is in no working copy", dir)
	}
	if workspace.Repo.CommonDir != s.Repo().CommonDir {
		return nil, fault.New(fault.WorktreeFailed, "%s belongs to another repository", dir).
			Hint("the history of this one is in %s", s.Repo().CommonDir)
	}
	return &WorkingCopy{store: s, workspace: workspace}, nil
}

// Without is the working copy without files: they are left out of its captures, unless the
// user tracks them. Paths are relative to the top, with slashes.
func (c *WorkingCopy) Without(paths ...string) *WorkingCopy {
	out := *c
	out.leave = paths
	return &out
}

// FilledWith is what OpenWorktree has just filled the working copy with; nil if it did not.
func (c *WorkingCopy) FilledWith() *snapshot.VCS { return c.filled }

// Root is the top of the working copy; "" where there is none.
func (c *WorkingCopy) Root() string { return c.workspace.Root }

// Capture reads the working copy as the configuration asks for it. The result is nil
// where there is none; the caller closes it after the append that stores it. Where the
// files cannot be read, that is a warning, and the result has the revision alone.
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

// restoreConflict makes conflicts again of what was one in jj when v was captured. If the files have no more than their text,
// that is a warning.
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

// compare looks at how files that were just restored differ from what was wanted, and
// warns where they do. What is there besides was not restored, and nobody has recorded
// it: that was ignored until now. It tells whether nothing else differs.
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
		c.store.Warn(fmt.Errorf("not ignored any more, and so part of the next capture: %s", someOf(besides)))
	}
	if len(others) > 0 {
		c.store.Warn(fmt.Errorf("%d of the restored files are not exactly what was captured: %s", len(others), someOf(others)))
	}
	return len(others) == 0
}

// someOf lists the first of paths, and how many more there are.
func someOf(paths []string) string {
	const shown = 5
	list := strings.Join(paths[:min(shown, len(paths))], ", ")
	if more := len(paths) - shown; more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	return list
}
