package timeline

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoreRequest asks for the code of a frame, in the working copy of the store or, where
// the run made a worktree for itself, there; or for that of a task's own worktree, there.
type RestoreRequest struct {
	From     string // an address
	Worktree string // the task's; "": the run's working copy
	DryRun   bool   // only say what would change
}

// Restored is what a restore did, or would do.
type Restored struct {
	From    Address               // the frame whose code it is
	Root    string                // the top of the working copy: the store's, or a worktree that the run made
	Name    string                // of that worktree; "" for the run's working copy
	VCS     *snapshot.VCS         // what that frame says of it; the caller owns it
	Changes []jjbridge.PathChange // sorted by path, never nil
	Saved   *Address              // the frame that keeps what was there before; nil where the run had it already
	Frame   *Address              // the frame that records the restore; nil for a dry run, and where the run had all of it already
	Attempt int                   // of a revert: the attempt whose code it is
	Running []string              // attempts of the run that have not ended by now, and so may be working in the same files
	Beside  []string              // attempts that were running when the files were read, and may have changed them
}

// Restore makes the working copy exactly what it was at a frame. What is there and in
// no frame of the run is captured as one first. Both frames are the run's.
// no_working_copy where there is none, no_code where the frame has none,
// restore_refused where something stands in the way; then nothing is touched.
func (s *Store) Restore(ctx context.Context, req RestoreRequest) (*Restored, error) {
	if s.workspace.Root == "" && req.Worktree == "" {
		return nil, noWorkingCopy()
	}
	from, vcs, err := s.loadCode(ctx, req.From, req.Worktree)
	if err != nil {
		return nil, err
	}
	files, err := s.worktreeFiles(ctx, from.Address, req.Worktree)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx, from.Address.Run)
	if err != nil {
		return nil, err
	}
	r := &restoring{
		store: s, copy: files, name: req.Worktree, head: head, want: vcs,
		subject: fmt.Sprintf("working copy restored to %s", from.Address),
	}
	return r.do(ctx, &Restored{From: from.Address, VCS: vcs, Beside: vcs.Attempts}, req.DryRun)
}

// worktreeFiles is a task's own worktree that its run made here. Without a name it is the
// one that the run made for itself or, where it made none, the working copy of the store.
func (s *Store) worktreeFiles(ctx context.Context, at Address, name string) (*WorkingCopy, error) {
	made, err := s.madeWorktree(at.Run, name)
	if err != nil {
		return nil, Explain(err)
	}
	if made == nil && name == "" {
		if s.workspace.Root == "" {
			return nil, noWorkingCopy()
		}
		return s.WorkingCopy(), nil
	}
	if made != nil {
		files, err := s.WorkingCopyAt(ctx, made.Path)
		if err == nil && files.Root() == made.Path {
			return files, nil
		}
	}
	if name == "" {
		return nil, fault.New(fault.NoWorkingCopy, "the worktree that run %q made for itself is not here any more", at.Run).
			Hint("`git smithers restore %s --to DIR` makes a new one with its files", at)
	}
	return nil, fault.New(fault.NoWorkingCopy, "the worktree of task %q of run %q is not here any more", name, at.Run).
		Hint("`git smithers restore %s --worktree %s --to DIR` makes a new one with its files", at, name)
}

// loadCode loads a frame that has code, of a task's own worktree where one is named.
func (s *Store) loadCode(ctx context.Context, address, worktree string) (*Loaded, *snapshot.VCS, error) {
	from, err := s.Load(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	vcs, err := from.Entry.VCSRevision()
	if err != nil {
		return nil, nil, Explain(err)
	}
	switch vcs = worktreeOf(vcs, worktree); {
	case vcs != nil && !vcs.Tree.IsZero():
		return from, vcs, nil
	case worktree != "":
		err = fault.New(fault.NoCode, "%s has no worktree of task %q", from.Address, worktree).
			Hint("`git smithers show %s` lists those that it has", from.Address).
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	default:
		err = fault.New(fault.NoCode, "%s has no code: no files were captured for it", from.Address).
			Hint("files are captured unless smithers.worktree is off, at a run's start and after every attempt; "+
				"`git smithers show` tells what a frame has").
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	}
	return nil, nil, err
}

func noWorkingCopy() error { return Explain(jjbridge.ErrNoWorkingCopy) }
