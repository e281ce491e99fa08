package timeline

import (
	"context"
	"fmt"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// RestoreRequest asks for the code of a frame, in the working copy of the store.
type RestoreRequest struct {
	From   string // an address
	DryRun bool   // only say what would change
}

// Restored is what a restore did, or would do.
type Restored struct {
	From    Address               // the frame whose code it is
	Root    string                // the top of the working copy: the store's, or that of a task's own worktree
	VCS     *snapshot.VCS         // what that frame says of it; the caller owns it
	Changes []jjbridge.PathChange // sorted by path, never nil
	Saved   *Address              // the frame that keeps what was there before; nil where the run had it already
	Frame   *Address              // the frame that records the restore; nil for a dry run, and where the run had all of it already
	Attempt int                   // of a revert: the attempt whose code it is
	Beside  []string              // attempts that were running when the files were read, and may have changed them
}

// Restore makes the working copy exactly what it was at a frame. What is there and in
// no frame of the run is captured as one first. Both frames are the run's.
// no_working_copy where there is none, no_code where the frame has none,
// restore_refused where something stands in the way; then nothing is touched.
func (s *Store) Restore(ctx context.Context, req RestoreRequest) (*Restored, error) {
	if s.workspace.Root == "" {
		return nil, noWorkingCopy()
	}
	from, vcs, err := s.loadCode(ctx, req.From)
	if err != nil {
		return nil, err
	}
	head, err := s.Head(ctx, from.Address.Run)
	if err != nil {
		return nil, err
	}
	r := &restoring{
		store: s, copy: s.WorkingCopy(), head: head, want: vcs,
		subject: fmt.Sprintf("working copy restored to %s", from.Address),
	}
	return r.do(ctx, &Restored{From: from.Address, VCS: vcs, Beside: vcs.Attempts}, req.DryRun)
}

// loadCode loads a frame that has code.
func (s *Store) loadCode(ctx context.Context, address string) (*Loaded, *snapshot.VCS, error) {
	from, err := s.Load(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	vcs, err := from.Entry.VCSRevision()
	if err != nil {
		return nil, nil, Explain(err)
	}
	if vcs == nil || vcs.Tree.IsZero() {
		return nil, nil, fault.New(fault.NoCode, "%s has no code: no files were captured for it", from.Address).
			Hint("`git smithers frames` tells which frames do; `git config smithers.worktree` whether new ones will").
			Detail("runId", from.Address.Run).Detail("frame", from.Address.Frame)
	}
	return from, vcs, nil
}

func noWorkingCopy() error { return Explain(jjbridge.ErrNoWorkingCopy) }
