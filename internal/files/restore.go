package files

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoreRequest asks for the code of a frame. The code goes to the run's own worktree if the run made such a
// worktree, and otherwise to the working copy of the store. The code of a task's own worktree goes to that
// worktree.
type RestoreRequest struct {
	From     string // an address with the whole id of the run
	Worktree string // the task whose own worktree to restore; "" means the run's working copy
	DryRun   bool   // report the changes, and change no file
	File     string // the absolute path of a file to keep, with the symbolic links that lead to the file; "" keeps no file
	Confirm  ConfirmRemoval
	Shared   bool                   // restore a frame that others may have changed, too
	Only     func(path string) bool // reports whether a file is restored; nil restores all
}

// RestoreResult is the result of a restore, or of a dry run.
type RestoreResult struct {
	From    timeline.Address      // the frame whose code was restored
	Root    string                // the top of the working copy: the store's, or a worktree that the run made
	Name    string                // the task whose own worktree was restored; "" for the run's working copy
	VCS     *snapshot.VCS         // the frame's record of the working copy; the caller owns the record
	Changes []jjbridge.PathChange // the changed files, sorted by path; never nil
	Saved   *timeline.Address     // the frame that keeps the earlier files; nil if the run's tip already had these files
	Frame   *timeline.Address     // the frame that records the restore; nil for a dry run, or if the run's tip already had the files
	Attempt int                   // for a revert, the number of the attempt whose code was restored; otherwise 0
	Running []string              // attempts of the run that have not ended, and may be changing the same files
	Stayed  []string              // paths that the restore left as they were on request, although the frame has other files
	New     []string              // paths of new untracked files, which the restore left as they were
	Secrets []string              // paths of untracked files with secrets that the restore left as they were, although the frame has other files
	Beside  []string              // attempts that were running when the files were captured, and may have changed the files
}

// Restore makes the files of a working copy exactly those of a frame, except req.File. If the run's tip lacks the
// current files, Restore first saves these files as a new frame. If the run's tip then lacks the restored files,
// Restore records them as another frame. If req.DryRun is true, Restore only returns the changes: it does not call
// req.Confirm, changes no file and appends nothing. With an error of the codes below, or of req.Confirm, Restore
// has changed no file.
//
// Codes: no_working_copy; no_code if the frame has no files; restore_refused if there is a reason against the restore,
// such as an ignored file at the path of a restored file, or if others may have changed the files of the frame and neither
// req.Shared nor req.Only is set.
func Restore(ctx context.Context, s *timeline.Store, req RestoreRequest) (*RestoreResult, error) {
	if s.Workspace().Root == "" && req.Worktree == "" {
		return nil, noWorkingCopy()
	}
	from, vcs, err := loadCode(ctx, s, req.From, req.Worktree, timeline.ToChange)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx, from.Address.Run)
	if err != nil {
		return nil, err
	}
	files, err := WorktreeFiles(ctx, s, head, from.Address, req.Worktree)
	if err != nil {
		return nil, err
	}
	r := &restoreRun{
		store: s, head: head, op: snapshot.Op{Kind: snapshot.OpRestore, Worktree: req.Worktree}, stays: Trail(req.File),
		subject: fmt.Sprintf("working copy restored to %s", from.Address),
	}
	r.setConfirm(req.Confirm, req.DryRun)
	if r.only = req.Only; !req.Shared && req.Only == nil && !req.DryRun && req.Worktree == "" {
		if r.shared, err = SharedWith(ctx, s, from.Entry); err != nil {
			return nil, err
		}
	}
	return r.do(ctx, files, &RestoreResult{From: from.Address, VCS: vcs, Beside: vcs.Attempts}, req.DryRun)
}

// restoreRun is a restore of one working copy, with the op and the events that record the restore in the run.
type restoreRun struct {
	store   *timeline.Store
	head    *timeline.Head
	op      snapshot.Op
	subject string // of the frame that records the restore
	confirm ConfirmRemoval
	keepNew bool     // see RestoreJobs
	stays   []string // absolute paths that the restore leaves as they are
	only    func(path string) bool
	merge   func(context.Context, *jjbridge.CapturedFiles) (*snapshot.VCS, error) // see RestoreJob.Merge
	shared  []string                                                              // the runs and sessions whose files the restore may change, so that it is refused
	// started and finished return the events of a revert. Both are nil for a restore. The argument of finished is the
	// error of a failed revert, or nil.
	started  func() snapshot.Event
	finished func(error) snapshot.Event
}

// setConfirm makes the restore call confirm, unless it is a dry run.
func (r *restoreRun) setConfirm(confirm ConfirmRemoval, dryRun bool) {
	if r.keepNew = confirm != nil; !dryRun {
		r.confirm = confirm
	}
}

// do restores the files of out.VCS in the working copy target, sets the other fields of out, and returns out. If the
// run's tip lacks the earlier files, do first saves them in the run. It then records the restore or, for a revert, its
// failure in the run. With dryRun, do only plans the restore: it changes no file and appends nothing.
func (r *restoreRun) do(ctx context.Context, target *WorkingCopy, out *RestoreResult, dryRun bool) (*RestoreResult, error) {
	all := &RestoreJobs{Store: r.store, Head: r.head, KeepNew: r.keepNew, DryRun: dryRun, All: []*RestoreJob{
		{Store: r.store, Copy: target, Name: r.op.Worktree, Want: out.VCS, Stays: r.stays, Only: r.only, Merge: r.merge, Out: out},
	}}
	defer all.Close()
	if err := all.Confirmed(ctx, r.confirm, func() error { return r.prepare(ctx, all, out) }); err != nil {
		return nil, err
	}
	if dryRun {
		return out, nil
	}
	var started func(int64) []snapshot.Event
	if r.started != nil {
		started = func(int64) []snapshot.Event { return []snapshot.Event{r.started()} }
	}
	if err := all.Save(ctx, r.subject, started); err != nil {
		return nil, err
	}
	if err := all.Restore(ctx); err != nil {
		return nil, r.failed(ctx, err)
	}
	r.op.Files = all.Changes()
	if err := r.record(context.WithoutCancel(ctx), all, out); err != nil {
		return nil, fault.New(fault.CodeOf(err), "the files were restored, but the restore was not recorded in the run: %w", err)
	}
	return out, nil
}

// prepare plans the restore, and refuses it if it changes files that may be of others.
func (r *restoreRun) prepare(ctx context.Context, all *RestoreJobs, out *RestoreResult) error {
	err := all.Prepare(ctx)
	if err != nil || len(r.shared) == 0 || len(out.Changes) == 0 {
		return err
	}
	shared := &Shared{With: r.shared}
	for _, change := range out.Changes {
		shared.Paths = append(shared.Paths, change.Path)
	}
	return shared.Refusal(fault.RestoreRefused, "the files of "+out.From.String()+" were not restored").
		Hint("`git smithers restore %s --to DIR` leaves this folder alone", fault.Word(out.From.String()))
}

// record records the restore in the run. If the restored files differ from the files of the run's tip, record appends a
// frame with the restored files and the op, and sets out.Frame to the frame's address. For a revert, the frame also has
// the event. If the files are equal, record appends no frame: for a revert it appends an entry with the event and the
// op, and for a restore it appends nothing.
func (r *restoreRun) record(ctx context.Context, all *RestoreJobs, out *RestoreResult) error {
	var records bool
	err := all.Update(ctx, func() (*snapshot.Draft, error) {
		draft := &snapshot.Draft{Subject: r.subject, AtMs: r.store.Now().UnixMilli()}
		news, err := all.Capture(draft, CapturedAfter)
		if err != nil {
			return nil, err
		}
		if records = len(news) > 0; records {
			draft.Frame = new(snapshot.FrameDraft)
		}
		if r.finished != nil {
			draft.Events = []snapshot.Event{r.finished(nil)}
		} else if !records {
			return nil, nil //nolint:nilnil // nothing is to be appended
		}
		_, err = r.head.AddOp(draft, r.op)
		return draft, err
	})
	if err == nil && records {
		out.Frame = all.Newest()
	}
	return err
}

// failed appends the event of a failed revert to the run. For a restore, failed appends nothing. It always returns
// cause, the error of the failure. An error of the append is a warning.
func (r *restoreRun) failed(ctx context.Context, cause error) error {
	if r.finished == nil {
		return cause
	}
	err := r.head.Update(context.WithoutCancel(ctx), func() (*snapshot.Draft, error) {
		return &snapshot.Draft{Subject: "failed: " + r.subject, Events: []snapshot.Event{r.finished(cause)}}, nil
	})
	if err != nil {
		r.store.Warn(fmt.Errorf("the failed revert was not recorded in the run: %w", err))
	}
	return cause
}

// WorktreeFiles returns the working copy in which files of a run are restored. If name is not "", it is a task's id,
// and the working copy is the task's own worktree. If name is "", the working copy is the run's own worktree or, if
// the run has none, the working copy of the store. head is the run's head. The parameter at is the address of the
// wanted files, for messages and hints. Code: no_working_copy if the worktree or the working copy is missing.
func WorktreeFiles(ctx context.Context, s *timeline.Store, head *timeline.Head, at timeline.Address, name string) (*WorkingCopy, error) {
	made, err := findMade(s, head.Row().ID, name)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	// A worktree that cannot be opened counts as missing.
	if made != nil {
		files, err := WorkingCopyAt(ctx, s, made.Path)
		if err == nil && files.Root() == made.Path {
			return files.likeRun(head.Entry())
		}
	}
	if name != "" {
		return nil, fault.New(fault.NoWorkingCopy, "the worktree of task %q of run %q is missing", name, at.Run).
			Hint("`git smithers restore %s --worktree %s --to DIR` makes a new worktree with the task's files",
				fault.Word(at.String()), fault.Word(name))
	}
	own, err := OwnWorktreeOf(s, head)
	switch {
	case err != nil:
		return nil, err
	case own != nil:
		return nil, noOwnWorktree(head, at, own)
	case s.Workspace().Root == "":
		return nil, noWorkingCopy()
	}
	return WorkingCopyOf(s).likeRun(head.Entry())
}

// loadCode loads the frame at an address, and the frame's record of one working copy. worktree is the task whose own
// worktree is meant, or "" for the run's working copy. The parameter to is as in LoadFor. Code: no_code if the frame
// has no files of the working copy.
func loadCode(ctx context.Context, s *timeline.Store, address, worktree string, to timeline.Purpose) (*timeline.LoadedEntry, *snapshot.VCS, error) {
	from, err := s.LoadFor(ctx, address, to)
	if err != nil {
		return nil, nil, err
	}
	vcs, err := from.Entry.VCSRevision()
	if err != nil {
		return nil, nil, timeline.Explain(err)
	}
	switch vcs = WorktreeOf(vcs, worktree); {
	case vcs != nil && !vcs.Tree.IsZero():
		return from, vcs, nil
	case worktree != "":
		err = fault.New(fault.NoCode, "%s has no worktree of task %q", from.Address, worktree).
			Hint("`git smithers show %s` lists the frame's worktrees", fault.Word(from.Address.String())).
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	default:
		err = fault.New(fault.NoCode, "%s has no code: no files were captured for the frame", from.Address).
			Hint("%s", WhenCaptured(from.Entry)).
			Hint("`git smithers show` shows the files of a frame").
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	}
	return nil, nil, err
}

// WhenCaptured returns a sentence for a hint about a frame without files. The sentence says when frames have
// files: it differs between imported runs and other runs. entry is an entry of the frame's run.
func WhenCaptured(entry *snapshot.Entry) string {
	if engines, err := entry.ExtEngines(); err == nil && len(engines) > 0 {
		return "a frame of an imported run has files if `git smithers watch` captured them, or if its commit is in this repository"
	}
	return "files are captured at a run's start and after every attempt, unless smithers.worktree is off"
}

// noWorkingCopy returns no_working_copy for a command that runs outside of any working copy.
func noWorkingCopy() error { return timeline.Explain(jjbridge.ErrNoWorkingCopy) }
