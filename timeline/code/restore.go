package code

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoreRequest asks for the code of a frame, in the working copy of the store or, where
// the run made a worktree for itself, there; or for that of a task's own worktree, there.
type RestoreRequest struct {
	From     string // an address with the whole id of the run
	Worktree string // the task's; "": the run's working copy
	DryRun   bool   // only say what would change
	File     string // a file, as an absolute path, that stays as it is, with the symbolic links that lead to it; "" for none
	Confirm  ConfirmRemoval
}

// Restored is what a restore did, or would do.
type Restored struct {
	From    timeline.Address      // the frame whose code it is
	Root    string                // the top of the working copy: the store's, or a worktree that the run made
	Name    string                // of that worktree; "" for the run's working copy
	VCS     *snapshot.VCS         // what that frame says of it; the caller owns it
	Changes []jjbridge.PathChange // sorted by path, never nil
	Saved   *timeline.Address     // the frame that keeps what was there before; nil where the run had it already
	Frame   *timeline.Address     // the frame that records the restore; nil for a dry run, and where the run had all of it already
	Attempt int                   // of a revert: the attempt whose code it is
	Running []string              // attempts of the run that have not ended by now, and so may be working in the same files
	Stayed  []string              // paths that were to change, and stay as they were
	Beside  []string              // attempts that were running when the files were read, and may have changed them
}

// Restore makes the working copy exactly what it was at a frame. What is there and in
// no frame of the run is captured as one first. Both frames are the run's.
// no_working_copy where there is none, no_code where the frame has none,
// restore_refused where something stands in the way; then nothing is touched, nor where Confirm does not agree.
func Restore(ctx context.Context, s *timeline.Store, req RestoreRequest) (*Restored, error) {
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
	if !req.DryRun {
		r.confirm = req.Confirm
	}
	return r.do(ctx, files, &Restored{From: from.Address, VCS: vcs, Beside: vcs.Attempts}, req.DryRun)
}

// restoreRun is a restore of one working copy, and what its run tells of it.
type restoreRun struct {
	store   *timeline.Store
	head    *timeline.Head
	op      snapshot.Op
	subject string // of the frame that records it
	confirm ConfirmRemoval
	stays   []string // absolute paths that are left as they are
	// started and finished are the events of a revert, nil for a restore. The error is
	// why it failed.
	started  func() snapshot.Event
	finished func(error) snapshot.Event
}

// do restores, and adds to out what it did. With dryRun it only finds out.
func (r *restoreRun) do(ctx context.Context, files *WorkingCopy, out *Restored, dryRun bool) (*Restored, error) {
	all := &RestoreJobs{Store: r.store, Head: r.head, All: []*RestoreJob{
		{Store: r.store, Copy: files, Name: r.op.Worktree, Want: out.VCS, Stays: r.stays, Out: out},
	}}
	defer all.Close()
	if err := all.Confirmed(ctx, r.confirm, func() error { return all.Prepare(ctx) }); err != nil {
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
		return nil, fault.New(fault.CodeOf(err), "the files are restored, but no frame says so: %w", err)
	}
	return out, nil
}

// record appends what the working copy has become, and the op.
func (r *restoreRun) record(ctx context.Context, all *RestoreJobs, out *Restored) error {
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

// failed records that a revert failed.
func (r *restoreRun) failed(ctx context.Context, cause error) error {
	if r.finished == nil {
		return cause
	}
	err := r.head.Update(context.WithoutCancel(ctx), func() (*snapshot.Draft, error) {
		return &snapshot.Draft{Subject: "failed: " + r.subject, Events: []snapshot.Event{r.finished(cause)}}, nil
	})
	if err != nil {
		r.store.Warn(fmt.Errorf("record that the revert failed: %w", err))
	}
	return cause
}

// WorktreeFiles is a task's own worktree that its run made here. Without a name it is the
// run's own or, if the run has none, the working copy of the store.
func WorktreeFiles(ctx context.Context, s *timeline.Store, head *timeline.Head, at timeline.Address, name string) (*WorkingCopy, error) {
	made, err := findMade(s, head.Row().ID, name)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if made != nil {
		files, err := WorkingCopyAt(ctx, s, made.Path)
		if err == nil && files.Root() == made.Path {
			return files, nil
		}
	}
	if name != "" {
		return nil, fault.New(fault.NoWorkingCopy, "the worktree of task %q of run %q is not here any more", name, at.Run).
			Hint("`git smithers restore %s --worktree %s --to DIR` makes a new one with its files",
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
	return WorkingCopyOf(s), nil
}

// loadCode loads a frame that has code, of a task's own worktree where one is named.
func loadCode(ctx context.Context, s *timeline.Store, address, worktree string, to timeline.Purpose) (*timeline.Loaded, *snapshot.VCS, error) {
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
			Hint("`git smithers show %s` lists those that it has", fault.Word(from.Address.String())).
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	default:
		err = fault.New(fault.NoCode, "%s has no code: no files were captured for it", from.Address).
			Hint("%s; `git smithers show` tells what a frame has", WhenCaptured(from.Entry)).
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	}
	return nil, nil, err
}

// WhenCaptured says to people how frames like an entry come to have files.
func WhenCaptured(entry *snapshot.Entry) string {
	if engines, err := entry.ExtEngines(); err == nil && len(engines) > 0 {
		return "frames of a run that was imported have files where `git smithers watch` captured them, and those of commits that are in this repository"
	}
	return "files are captured unless smithers.worktree is off, at a run's start and after every attempt"
}

func noWorkingCopy() error { return timeline.Explain(jjbridge.ErrNoWorkingCopy) }
