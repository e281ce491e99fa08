package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// openShared finds the working copy that tasks share, and opens it if it is a worktree
// of the run's own.
func (r *runner) openShared(ctx context.Context) error {
	if r.opts.WorkingCopy != nil {
		r.copies[""] = r.opts.WorkingCopy
	}
	if r.opts.Worktree == nil && r.wf.AsksForWorktrees() {
		return fault.New(fault.WorktreeFailed, "workflow %s asks for worktrees, which need a repository", r.wf.Name).
			Hint("run it in a git or jj repository")
	}
	if spec, ok := r.ownWorktree(); ok {
		fill, err := r.fillsShared()
		if err != nil {
			return err
		}
		spec.Fill = fill
		opened, err := r.opts.Worktree(ctx, spec, r.resumed && r.wf.Worktree != nil)
		if err != nil {
			return timeline.Explain(err)
		}
		r.copies[""] = opened
	}
	if shared := r.copies[""]; shared != nil && shared.Root() != "" {
		r.dir = shared.Root()
	}
	return nil
}

// ownWorktree returns the run's own worktree, which its tasks share; false if they work in the given working copy.
func (r *runner) ownWorktree() (code.WorktreeSpec, bool) {
	if spec, ok := r.wf.OwnWorktree(r.runID); ok {
		return spec, true
	}
	return code.WorktreeSpec{}, r.opts.OwnWorktree && r.opts.Worktree != nil
}

// fillsShared reports whether the newest frame's files are those of the working copy that the tasks share. If the
// workflow asks for a worktree, the files are those of the starting working copy until a task has run.
func (r *runner) fillsShared() (bool, error) {
	if r.wf.Worktree == nil {
		return true, nil
	}
	attempts, err := r.rec.Entry().Attempts()
	return err == nil && attempts.Len() > 0, timeline.Explain(err)
}

// opening makes or finds a task's own worktree.
type worktreeOpener struct {
	one    *sync.Mutex // held while a worktree is opened, because git has one lock for its configuration
	open   func(ctx context.Context, spec code.WorktreeSpec, rebase bool) (WorkingCopy, error)
	spec   code.WorktreeSpec
	rebase bool
}

// placeOf returns where a task's command runs: a folder, or a worktree that its
// first attempt in this process opens.
func (r *runner) placeOf(t *workflow.Task) (dir string, open *worktreeOpener) {
	if t.Worktree == nil {
		return r.dir, nil
	}
	if own := r.copies[t.ID]; own != nil {
		return own.Root(), nil
	}
	spec := t.Worktree.Spec(r.runID, t.ID)
	spec.Fill = r.hasFiles(t.ID)
	return "", &worktreeOpener{one: &r.worktrees, open: r.opts.Worktree, spec: spec, rebase: r.resumed}
}

// hasFiles reports whether the newest frame may have files of a task's own worktree. Read errors are
// reported when the worktree is made.
func (r *runner) hasFiles(task string) bool {
	vcs, err := r.rec.Entry().VCSRevision()
	return err != nil || vcs != nil && slices.ContainsFunc(vcs.Worktrees, func(w snapshot.Worktree) bool { return w.Name == task })
}

var errNowhere = errors.New("it has no folder")

// run opens the worktree. Safe for concurrent use.
func (o *worktreeOpener) run(ctx context.Context) (WorkingCopy, error) {
	o.one.Lock()
	defer o.one.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	opened, err := o.open(ctx, o.spec, o.rebase)
	if err == nil && opened.Root() == "" {
		return nil, errNowhere
	}
	return opened, err
}
