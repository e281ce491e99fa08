package files

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

// RestoreJobs are the restores of one operation on a run, in one or several working copies.
type RestoreJobs struct {
	Store *timeline.Store
	Head  *timeline.Head // nil until the run exists, for Prepare alone
	All   []*RestoreJob  // one job for each working copy
	// KeepNew makes new untracked files stay, unless a restored file takes their place. Confirmed sets it if somebody is asked.
	KeepNew bool
	// Fence returns an error if the operation must not append on the current tip. A nil Fence allows every append.
	Fence func() error
	// Of has entries whose files the jobs restore, beside those of Head.
	Of []*snapshot.Entry
	// DryRun says that nothing will be restored.
	DryRun bool
}

// Prepare plans the restores of all working copies, and sets Running in the result of each job. It changes no file.
// Codes: untrusted_files, see checkPrograms; restore_refused if there is a reason against a restore, such as an ignored file at the path of a restored file, or
// another run that executes in the working copy.
func (r *RestoreJobs) Prepare(ctx context.Context) error {
	of := r.Of
	if r.Head != nil {
		of = append(slices.Clone(of), r.Head.Entry())
	}
	for _, entry := range of {
		if err := r.Store.MuteHooks(ctx, entry); err != nil {
			return err
		}
	}
	var refused []jjbridge.Refusal
	run := ""
	if r.Head != nil {
		run = r.Head.Row().ID
	}
	for _, one := range r.All {
		one.Copy = one.Copy.For(run, "")
		stranger, err := distrusted(r.Store, one.Copy.workspace, of...)
		if err == nil {
			one.Out.Running, err = r.running(one.Name)
		}
		if err == nil {
			err = one.prepare(ctx)
		}
		if err == nil {
			err = r.leaveNew(ctx, one)
		}
		if err == nil {
			err = one.refuseBeside(run)
		}
		if err == nil && !r.DryRun {
			err = one.checkPrograms(ctx, stranger)
		}
		if err != nil {
			return timeline.Explain(err)
		}
		refused = append(refused, one.plan.Refused...)
	}
	if len(refused) > 0 {
		return timeline.Explain(&jjbridge.RefusedError{Refused: refused})
	}
	return nil
}

// Close closes the captures of all jobs, so that captured files that are in no frame are removed.
func (r *RestoreJobs) Close() {
	for _, one := range r.All {
		one.close()
	}
}

// Changes reports whether the plan of any job changes a file.
func (r *RestoreJobs) Changes() bool {
	return slices.ContainsFunc(r.All, func(one *RestoreJob) bool { return len(one.plan.Changes) > 0 })
}

// Update updates the run as Head.Update does, and calls Fence before each call of build. If Fence returns an
// error, Update returns that error. A nil Fence is not called.
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

// Save keeps the files that Prepare captured. subject describes the operation that comes after Save. If the run's tip
// lacks some of these files, Save appends a frame with the files. It then sets Saved in the results of the jobs whose
// files are in the frame.
//
// If events is not nil, Save also appends the events that events returns: in the entry of the frame or, without a
// frame, in an entry of their own. The argument newest of events is the number of the run's newest frame after Save.
// If there is no frame to append and events is nil, Save appends nothing.
func (r *RestoreJobs) Save(ctx context.Context, subject string, events func(newest int64) []snapshot.Event) error {
	var saved []*RestoreJob
	err := r.Update(ctx, func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Subject: "before: " + subject}
		var err error
		saved, err = r.Capture(draft, func(one *RestoreJob) *jjbridge.CapturedFiles { return one.have })
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

// Restore restores the files of all working copies, and then captures the working copies again. If the restore of one
// working copy fails, Restore first restores the earlier files of the working copies before it in r.All, and then
// returns the error. The failed working copy itself may then have only some of the changes; a hint of the error says
// how to restore its earlier files, and the error wraps jjbridge.ErrUnfinished. If earlier files cannot be restored, Restore warns.
func (r *RestoreJobs) Restore(ctx context.Context) error {
	for i, one := range r.All {
		err := one.restore(ctx)
		if err == nil {
			continue
		}
		for _, done := range r.All[:i] {
			if err := done.takeBack(context.WithoutCancel(ctx)); err != nil {
				r.Store.Warn(fmt.Errorf("the earlier files of %s were not restored, but frame %s has them: %w", done.Copy.Root(), r.Newest(), err))
			}
		}
		return r.explain(one, err)
	}
	// The files are restored, so the restore is recorded even if ctx ends.
	for _, one := range r.All {
		one.look(context.WithoutCancel(ctx))
	}
	return nil
}

// explain returns the error cause with an error code and hints, as [timeline.Explain] does. one is the job whose
// restore failed with cause. If the restore changed some files, explain adds a hint: the command that restores the
// earlier files, which the newest frame has.
func (r *RestoreJobs) explain(one *RestoreJob, cause error) error {
	unfinished := errors.Is(cause, jjbridge.ErrUnfinished)
	cause = timeline.Explain(cause)
	known, ok := errors.AsType[*fault.Error](cause)
	if !ok || !unfinished {
		return cause
	}
	if !errors.Is(known, jjbridge.ErrUnfinished) { // the code says why git failed, the caller must know that files have changed
		known.Err = errors.Join(jjbridge.ErrUnfinished, known.Err)
	}
	worktree := ""
	if one.Name != "" {
		worktree = " --worktree " + fault.Word(one.Name)
	}
	before := r.Newest().String()
	return known.Hint("`git smithers restore %s%s` restores the earlier files: the failed restore changed only some files",
		fault.Word(before), worktree)
}

// Capture sets draft.VCS and draft.Objects for the working copies whose files differ from the run's tip, and returns
// the jobs of these working copies. found must return a job's capture: either always the capture before the restore,
// or always the capture after it. If no files differ, Capture leaves the draft unchanged and returns nil.
func (r *RestoreJobs) Capture(draft *snapshot.Draft, found func(*RestoreJob) *jjbridge.CapturedFiles) ([]*RestoreJob, error) {
	vcs, err := r.Head.Entry().VCSRevision()
	if err != nil {
		return nil, err
	}
	var news []*RestoreJob
	for _, one := range r.All {
		captured := found(one).VCS
		known := WorktreeOf(vcs, one.Name)
		if known != nil && (known.Tree == captured.Tree || one.leavesOnly() && known.Tree == one.Want.Tree) {
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
			if len(one.Out.Stayed)+len(one.Out.Secrets) == 0 {
				continue
			}
			if err := one.have.Objects(w); err != nil { // only the capture before the restore may have the files that stay
				return err
			}
		}
		return nil
	}
	return news, nil
}

// CapturedAfter returns a job's files after the restore, or nil if RestoreJobs.Restore has not captured them
// yet.
func CapturedAfter(one *RestoreJob) *jjbridge.CapturedFiles { return one.now }

// Newest returns the address of the run's newest frame.
func (r *RestoreJobs) Newest() *timeline.Address {
	return &timeline.Address{Run: r.Head.Row().ID, Frame: r.Head.Row().Frame}
}

// running returns the sorted keys of the attempts that are in progress at the run's tip and work in one working
// copy. name is the task whose own worktree it is, or "" for the run's working copy. running returns nil if the
// run is not running or r has a Fence.
func (r *RestoreJobs) running(name string) ([]string, error) {
	if r.Head == nil || r.Fence != nil || r.Head.Row().Status != snapshot.RunRunning {
		return nil, nil // with a fence, this process has claimed the run and executes no attempt
	}
	var keys []string
	for a, err := range r.Head.Entry().AllAttempts() {
		if err != nil {
			return nil, err
		}
		if a.State == snapshot.AttemptInProgress && a.Worktree == name {
			keys = append(keys, snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt))
		}
	}
	slices.Sort(keys)
	return keys, nil
}
