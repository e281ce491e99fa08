package files

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Create starts a run as [timeline.Store.Create] does, and puts the current files of the working copy into the
// run's first entry. If smithers.worktree is off or the files are unreadable, the entry has the revision alone
// (see Capture). If there is no working copy, Create does not change draft.
func (c *WorkingCopy) Create(ctx context.Context, run snapshot.Run, draft snapshot.Draft) (head *timeline.Head, err error) {
	err = c.with(ctx, &draft, nil, func() error {
		head, err = c.store.Create(ctx, run, draft)
		return err
	})
	return head, err
}

// Append adds an entry to the run of h as [timeline.Head.Append] does, with the current files of the working copy.
// If smithers.worktree is off or the files are unreadable, the entry has the revision alone (see Capture). If
// there is no working copy, the entry keeps the files and the revision of the entry before.
func (c *WorkingCopy) Append(ctx context.Context, h *timeline.Head, draft snapshot.Draft) error {
	return c.with(ctx, &draft, h, func() error { return h.Append(ctx, draft) })
}

// with captures the working copy into draft, calls store, and then closes the capture. store must append the draft.
// head is the run's head, or nil for a new run. The draft gets the records of tasks' own worktrees from this head's
// tip. If Capture fails, with does not call store. If Capture returns nil, because there is no working copy, with
// calls store and does not change draft.
func (c *WorkingCopy) with(ctx context.Context, draft *snapshot.Draft, head *timeline.Head, store func() error) (err error) {
	captured, err := c.Capture(ctx)
	if err != nil || captured == nil {
		if err == nil {
			err = store()
		}
		return err
	}
	defer func() { err = errors.Join(err, captured.Close()) }()
	draft.VCS, draft.Objects = &captured.VCS, captured.Objects
	if head != nil {
		before, err := head.Entry().VCSRevision()
		if err != nil {
			return timeline.Explain(err)
		}
		if before != nil {
			draft.VCS.Worktrees = before.Worktrees
		}
	}
	return store()
}
