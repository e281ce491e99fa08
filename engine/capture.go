package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/git-smithers/git-smithers/engine/workflow"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// captures are the working copies that were read for one frame, by name: "" is the
// working copy that tasks share, the others are tasks' own worktrees.
type captures map[string]*jjbridge.Captured

// capture reads the named working copies. If one cannot be read, the run is warned and the frame has none of its files.
// stopping means that the run was cancelled.
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

// captureOf reads one working copy. It returns nil if there is nothing to read or reading failed.
func (c *workingCopies) captureOf(ctx context.Context, name string) *jjbridge.Captured {
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
		c.opts.Warn(fmt.Errorf("the working copy could not be captured, so frames keep the code of earlier ones: %w", err))
	default:
		c.opts.Warn(fmt.Errorf("the worktree of task %s could not be captured, so frames keep the code of earlier ones: %w", name, err))
	}
	c.unread[name] = true
	return nil
}

// whileThereIsTime returns a context that outlives ctx by the grace period and ends with
// Options.Hurry: a cancelled run waits for its last capture no longer than for its commands.
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

// any reports whether anything was read.
func (c captures) any() bool { return len(c) > 0 }

// objects writes the objects of the captures that are not stored yet, for snapshot.Draft.Objects.
func (c captures) objects(w objstore.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].Objects(w); err != nil {
			return err
		}
	}
	return nil
}

// close releases all captures.
func (c captures) close(warn func(error)) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if err := c[name].Close(); err != nil {
			warn(fmt.Errorf("temporary files of a capture could not be removed: %w", err))
		}
	}
}

// vcs returns vcs.json with the captured working copies; the others are as in before, the tip's.
// running names the attempts that may have changed the shared files during the capture.
func (c captures) vcs(before *snapshot.VCS, running []string, wf *workflow.Workflow) *snapshot.VCS {
	if !c.any() {
		return nil
	}
	own := make(map[string]snapshot.VCS)
	if before != nil {
		for _, w := range before.Worktrees {
			if t := wf.Task(w.Name); t != nil && t.Worktree != nil {
				own[w.Name] = w.VCS
			}
		}
	}
	var now snapshot.VCS
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
