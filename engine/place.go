package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// openShared finds the working copy that tasks share, and opens it where the
// workflow asks for a worktree.
func (r *runner) openShared(ctx context.Context) error {
	if r.opts.WorkingCopy != nil {
		r.copies[""] = r.opts.WorkingCopy
	}
	if r.opts.Worktree == nil && r.wf.asksForWorktrees() {
		return fault.New(fault.WorktreeFailed, "workflow %s asks for worktrees, and there is nowhere to make them", r.wf.Name).
			Hint("run it in a git or jj repository")
	}
	if w := r.wf.Worktree; w != nil {
		opened, err := r.opts.Worktree(ctx, w.spec(r.runID, ""), r.resumed)
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

// opening makes or finds a task's own worktree.
type opening struct {
	one    *sync.Mutex // held while a worktree of the run is opened: git has one lock for its configuration
	open   func(ctx context.Context, spec timeline.WorktreeSpec, rebase bool) (WorkingCopy, error)
	spec   timeline.WorktreeSpec
	rebase bool
}

// placeOf says where a task's command runs: a folder, or a worktree that its
// first attempt in this process is to open.
func (r *runner) placeOf(t *Task) (dir string, open *opening) {
	if t.Worktree == nil {
		return r.dir, nil
	}
	if own := r.copies[t.ID]; own != nil {
		return own.Root(), nil
	}
	return "", &opening{one: &r.worktrees, open: r.opts.Worktree, spec: t.Worktree.spec(r.runID, t.ID), rebase: r.resumed}
}

var errNowhere = errors.New("it has no folder")

// run opens the worktree. Other goroutines may do so at the same time.
func (o *opening) run(ctx context.Context) (WorkingCopy, error) {
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
