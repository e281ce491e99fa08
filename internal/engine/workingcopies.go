package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// workingCopies finds, opens and captures the working copies in which the commands of a run work.
type workingCopies struct {
	rec     Recorder
	wf      *workflow.Workflow
	opts    *Options
	runID   string
	resumed bool // the run was started before

	dir     string                 // where commands run without a worktree of their own
	open    map[string]WorkingCopy // by name: "" is the shared working copy, other names are tasks with open worktrees
	unread  map[string]bool        // working copies whose last capture failed
	opening sync.Mutex             // held while a worktree is opened
}

// openShared sets the working copy that tasks share, and c.dir to its folder. If the tasks share a worktree of the
// run's own, openShared makes or opens this worktree. Otherwise the tasks share Options.WorkingCopy. If
// Options.WorkingCopy is nil, too, the tasks share no working copy. If the workflow asks for worktrees but
// Options.Worktree is nil, the error's code is worktree_failed.
func (c *workingCopies) openShared(ctx context.Context) error {
	if c.opts.WorkingCopy != nil {
		c.open[""] = c.opts.WorkingCopy
	}
	if c.opts.Worktree == nil && c.wf.AsksForWorktrees() {
		return fault.New(fault.WorktreeFailed, "workflow %s asks for worktrees, which need a repository", c.wf.Name).
			Hint("run the workflow in a git or jj repository")
	}
	if spec, ok := c.ownWorktree(); ok {
		fill, err := c.fillsShared()
		if err != nil {
			return err
		}
		spec.Fill = fill
		// A resume rebases a worktree onto its base only if the workflow asks for the worktree.
		opened, err := c.opts.Worktree(ctx, spec, c.resumed && c.wf.Worktree != nil)
		if err != nil {
			return timeline.Explain(err)
		}
		c.open[""] = opened
	}
	if shared := c.open[""]; shared != nil && shared.Root() != "" {
		c.dir = shared.Root()
	}
	return nil
}

// visited is a working copy that is told when a command is at work in it. *files.WorkingCopy is one.
type visited interface {
	Enter()
	Leave()
}

// visit tells the shared working copy whether commands of the run are at work in it.
func (c *workingCopies) visit(atWork bool) {
	switch shared, ok := c.open[""].(visited); {
	case !ok:
	case atWork:
		shared.Enter()
	default:
		shared.Leave()
	}
}

// ownWorktree returns the spec of the worktree that the tasks share, and true. If the workflow does not ask for such
// a worktree, but Options.OwnWorktree and Options.Worktree are set, the spec is zero. In all other cases, ownWorktree
// returns the zero spec and false.
func (c *workingCopies) ownWorktree() (files.WorktreeSpec, bool) {
	if spec, ok := c.wf.OwnWorktree(c.runID); ok {
		return spec, true
	}
	return files.WorktreeSpec{}, c.opts.OwnWorktree && c.opts.Worktree != nil
}

// fillsShared reports whether the newest frame's files belong to the working copy that the tasks share. If the workflow
// asks for a worktree, the files belong to this worktree only after the run has an attempt. Before the first attempt,
// the files are those of the working copy from which the run started.
func (c *workingCopies) fillsShared() (bool, error) {
	if c.wf.Worktree == nil {
		return true, nil
	}
	attempts, err := c.rec.Entry().Attempts()
	return err == nil && attempts.Len() > 0, timeline.Explain(err)
}

// placeOf returns the folder in which a task's command runs. If the task has a worktree of its own that is not open
// in this process, dir is "", and open is the opener of the worktree. Otherwise open is nil.
func (c *workingCopies) placeOf(t *workflow.Task) (dir string, open *worktreeOpener) {
	if t.Worktree == nil {
		return c.dir, nil
	}
	if own := c.open[t.ID]; own != nil {
		return own.Root(), nil
	}
	spec := t.Worktree.Spec(c.runID, t.ID)
	spec.Fill = c.hasFiles(t.ID)
	return "", &worktreeOpener{one: &c.opening, open: c.opts.Worktree, spec: spec, rebase: c.resumed}
}

// hasFiles reports whether the newest frame has files of a task's own worktree. task is the task's id. If the frame is
// unreadable, hasFiles returns true, because the attempt reports the error when it makes the worktree.
func (c *workingCopies) hasFiles(task string) bool {
	vcs, err := c.rec.Entry().VCSRevision()
	return err != nil || vcs != nil && slices.ContainsFunc(vcs.Worktrees, func(w snapshot.Worktree) bool { return w.Name == task })
}

// worktreeOpener makes or finds a task's own worktree. Its fields open, spec and rebase are Options.Worktree and the
// arguments for it.
type worktreeOpener struct {
	one    *sync.Mutex // held while a worktree is opened, because all worktrees share git's lock on its configuration
	open   func(ctx context.Context, spec files.WorktreeSpec, rebase bool) (WorkingCopy, error)
	spec   files.WorktreeSpec
	rebase bool
}

var errNowhere = errors.New("the worktree has no folder")

// run makes or finds the worktree and returns it. If ctx has ended, the error is the cause of ctx's end. If the
// worktree has no folder, the error is errNowhere. run is safe for concurrent use.
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
