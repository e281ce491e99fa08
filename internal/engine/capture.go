package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// captures holds the captures of working copies for one frame, by name. "" names the working copy that tasks share;
// any other name is the id of a task with a worktree of its own.
type captures map[string]*jjbridge.CapturedFiles

// capture returns captures of the working copies in names. If names is empty or Options.Hurry has ended, it returns
// nil. It leaves out a working copy that cannot be read. For such a working copy, the next frame keeps the files of the
// previous frame. If stopping is true, the run is being cancelled, so the captures must end within the grace period.
// The caller closes the result.
func (c *workingCopies) capture(ctx context.Context, names map[string]bool, stopping bool) captures {
	if len(names) == 0 || c.opts.Hurry.Err() != nil {
		return nil
	}
	ctx, stop := c.whileThereIsTime(ctx, stopping)
	defer stop()
	read := make(captures, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if got := c.captureOf(ctx, name); got != nil {
			read[name] = got
		}
	}
	return read
}

// captureOf captures the working copy with the given name. It returns nil if the working copy is not open or not
// under version control, if ctx has ended, or if the capture failed. It warns about a failed capture, unless
// Options.Hurry has ended or the previous capture of this working copy failed, too.
func (c *workingCopies) captureOf(ctx context.Context, name string) *jjbridge.CapturedFiles {
	from := c.open[name]
	if from == nil || ctx.Err() != nil {
		return nil
	}
	got, err := from.Capture(ctx)
	switch {
	case err == nil:
		delete(c.unread, name)
		return got
	case c.opts.Hurry.Err() != nil || c.unread[name]: // one warning until a capture succeeds again
	case name == "":
		c.opts.Warn(fmt.Errorf("the working copy could not be captured, so new frames keep the code of earlier frames: %w", err))
	default:
		c.opts.Warn(fmt.Errorf("the worktree of task %s could not be captured, so new frames keep the code of earlier frames: %w", name, err))
	}
	c.unread[name] = true
	return nil
}

// whileThereIsTime returns a context for captures. The context ends when Options.Hurry ends, or when the grace period
// is over. The grace period begins when ctx ends or, if stopping is true, at once. A cancelled run therefore waits no
// longer for its last capture than for its commands. The caller calls the CancelFunc.
func (c *workingCopies) whileThereIsTime(ctx context.Context, stopping bool) (context.Context, context.CancelFunc) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := func() {
		grace := time.NewTimer(c.opts.Grace)
		defer grace.Stop()
		select {
		case <-grace.C:
			cancel()
		case <-within.Done():
		}
	}
	// calm and going stop the wait for the end of Hurry and of ctx.
	calm := context.AfterFunc(c.opts.Hurry, cancel)
	going := context.AfterFunc(ctx, end)
	if stopping { // another process may have cancelled the run, which does not end ctx
		go end()
	}
	return within, func() {
		calm()
		going()
		cancel()
	}
}

// any reports whether c has a capture.
func (c captures) any() bool { return len(c) > 0 }

// objects writes to w the objects of the captures that the repository has not stored yet. It serves as Objects of a
// snapshot.Draft.
func (c captures) objects(w objstore.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].Objects(w); err != nil {
			return err
		}
	}
	return nil
}

// close releases all captures. It passes errors to warn.
func (c captures) close(warn func(error)) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].Close(); err != nil {
			warn(fmt.Errorf("temporary files of a capture could not be removed: %w", err))
		}
	}
}

// vcs returns the content of vcs.json for the next frame, or nil if c has no capture. before is the tip's vcs.json,
// or nil. running has the keys of the attempts that may have changed the shared files during the capture.
//
// A captured working copy has the captured revision. Any other working copy keeps its revision from before. The
// exception is a worktree of a task that is not in wf, or has no worktree of its own there: vcs drops this worktree.
func (c captures) vcs(before *snapshot.VCS, running []string, wf *workflow.Workflow) *snapshot.VCS {
	if !c.any() {
		return nil
	}
	own := make(map[string]snapshot.VCS) // the tasks' own worktrees, by task
	if before != nil {
		for _, w := range before.Worktrees {
			if t := wf.Task(w.Name); t != nil && t.Worktree != nil {
				own[w.Name] = w.VCS
			}
		}
	}
	var now snapshot.VCS // the shared working copy
	if before != nil {
		now = *before
	}
	for name, got := range c {
		switch {
		case name != "":
			own[name] = got.VCS
			if now.Type == "" { // tasks share no working copy
				now.Type = got.VCS.Type
			}
		default:
			now = got.VCS
			now.Attempts = running
		}
	}
	now.Worktrees = nil
	for _, name := range slices.Sorted(maps.Keys(own)) {
		now.Worktrees = append(now.Worktrees, snapshot.Worktree{Name: name, VCS: own[name]})
	}
	return &now
}
