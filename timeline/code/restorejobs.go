package code

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoreJobs are what one operation on a run restores, in one or several working copies.
type RestoreJobs struct {
	Store *timeline.Store
	Head  *timeline.Head
	All   []*RestoreJob
	// Fence refuses to append on a tip on which it must not be; nil: on none.
	Fence func() error
}

// Prepare finds out what there is to do in all working copies, and whether it can be
// done. It touches nothing.
func (r *RestoreJobs) Prepare(ctx context.Context) error {
	var refused []jjbridge.Refusal
	for _, one := range r.All {
		if err := one.prepare(ctx); err != nil {
			return timeline.Explain(err)
		}
		var err error
		if one.Out.Running, err = r.running(one.Name); err != nil {
			return timeline.Explain(err)
		}
		refused = append(refused, one.plan.Refused...)
	}
	if len(refused) > 0 {
		return timeline.Explain(&jjbridge.RefusedError{Refused: refused})
	}
	return nil
}

// Close drops what was captured and is in no frame.
func (r *RestoreJobs) Close() {
	for _, one := range r.All {
		one.close()
	}
}

// Changes reports whether there is anything to restore.
func (r *RestoreJobs) Changes() bool {
	return slices.ContainsFunc(r.All, func(one *RestoreJob) bool { return len(one.plan.Changes) > 0 })
}

// Update is Head.Update behind the fence.
func (r *RestoreJobs) Update(ctx context.Context, build func() (*snapshot.Draft, error)) error {
	return r.Head.Update(ctx, func() (*snapshot.Draft, error) {
		if r.Fence != nil {
			if err := r.Fence(); err != nil {
				return nil, err
			}
		}
		return build()
	})
}

// Save appends a frame with what is in the working copies, unless the run's tip has it,
// before what subject says is done. The events, which are made for the number of the
// newest frame once it is there, are appended in any case.
func (r *RestoreJobs) Save(ctx context.Context, subject string, events func(newest int64) []snapshot.Event) error {
	var saved []*RestoreJob
	err := r.Update(ctx, func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Subject: "before: " + subject}
		var err error
		saved, err = r.Capture(draft, func(one *RestoreJob) *jjbridge.Captured { return one.have })
		if err != nil {
			return nil, err
		}
		newest := r.Head.Row().Frame
		if len(saved) > 0 {
			draft.Frame, draft.Subject = new(snapshot.FrameDraft), "working copy saved; "+draft.Subject
			newest++
		}
		if events != nil {
			draft.Events = events(newest)
		} else if len(saved) == 0 {
			return nil, nil //nolint:nilnil // nothing is to be appended
		}
		return draft, nil
	})
	if err == nil {
		for _, one := range saved {
			one.Out.Saved = r.Newest()
		}
	}
	return err
}

// Restore restores the files of all working copies. Where that fails in one, those before
// it get their files back.
func (r *RestoreJobs) Restore(ctx context.Context) error {
	for i, one := range r.All {
		err := one.restore(ctx)
		if err == nil {
			continue
		}
		for _, done := range r.All[:i] {
			if err := done.takeBack(context.WithoutCancel(ctx)); err != nil {
				r.Store.Warn(fmt.Errorf("give %s its files back, which are in %s: %w", done.Copy.Root(), r.Newest(), err))
			}
		}
		return r.explain(one, err)
	}
	// The files are restored: whoever has had enough by now gets that recorded all the same.
	for _, one := range r.All {
		one.look(context.WithoutCancel(ctx))
	}
	return nil
}

// explain says why the restore of one working copy failed, and where its files are.
func (r *RestoreJobs) explain(one *RestoreJob, cause error) error {
	unfinished := errors.Is(cause, jjbridge.ErrUnfinished)
	cause = timeline.Explain(cause)
	known, ok := errors.AsType[*fault.Error](cause)
	if !ok || !unfinished {
		return cause
	}
	worktree := ""
	if one.Name != "" {
		worktree = " --worktree " + fault.Word(one.Name)
	}
	before := r.Newest().String()
	return known.Hint("some files were changed and others were not; what was there before is %s: "+
		"`git smithers restore %s%s` brings it back", before, fault.Word(before), worktree)
}

// Capture puts into a draft what was found in the working copies, as far as the tip does
// not have it, and returns those in which there is news.
func (r *RestoreJobs) Capture(draft *snapshot.Draft, found func(*RestoreJob) *jjbridge.Captured) ([]*RestoreJob, error) {
	vcs, err := r.Head.Entry().VCSRevision()
	if err != nil {
		return nil, err
	}
	var news []*RestoreJob
	for _, one := range r.All {
		captured := found(one).VCS
		if known := WorktreeOf(vcs, one.Name); known != nil && known.Tree == captured.Tree {
			continue
		}
		if captured.Attempts, err = r.running(one.Name); err != nil {
			return nil, err
		}
		vcs, news = WithWorktree(vcs, one.Name, captured), append(news, one)
	}
	if len(news) == 0 {
		return nil, nil
	}
	draft.VCS = vcs
	draft.Objects = func(w objstore.Writer) error {
		for _, one := range news {
			if err := found(one).Objects(w); err != nil {
				return err
			}
			if len(one.Out.Stayed) == 0 {
				continue
			}
			if err := one.have.Objects(w); err != nil { // what stays may be in no other capture
				return err
			}
		}
		return nil
	}
	return news, nil
}

// CapturedAfter returns the files as they are after a restore.
func CapturedAfter(one *RestoreJob) *jjbridge.Captured { return one.now }

// Newest is the address of the run's newest frame.
func (r *RestoreJobs) Newest() *timeline.Address {
	return &timeline.Address{Run: r.Head.Row().ID, Frame: r.Head.Row().Frame}
}

// running are the keys of the attempts that work in the working copy of a name while it is
// read, as far as the run's tip knows.
func (r *RestoreJobs) running(name string) ([]string, error) {
	if r.Fence != nil || r.Head.Row().Status != snapshot.RunRunning {
		return nil, nil // whoever has claimed the run executes nothing
	}
	attempts, err := r.Head.Entry().Attempts()
	if err != nil {
		return nil, err
	}
	var keys []string
	for row, err := range attempts.Rows() {
		if err != nil {
			return nil, err
		}
		a, err := snapshot.DecodeAttempt(row)
		if err != nil {
			return nil, err
		}
		if a.State == snapshot.AttemptInProgress && a.Worktree == name {
			keys = append(keys, row.Key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
