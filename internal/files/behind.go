package files

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Behind describes files of a frame that are older than the frame's state: attempts have ended since the files
// were captured, and the files of these attempts were not captured.
type Behind struct {
	Frame    int64    `json:"frame"`    // the frame at which the files were captured
	Attempts []string `json:"attempts"` // the keys of the attempts that have ended since, sorted
}

// BehindState finds out whether the files of a frame are older than its state. The parameter at is the frame.
// BehindState returns the frame at which the files were captured, and the attempts that have ended since then and
// whose own files were not captured. worktree is the task whose own worktree has the files, or "" for the run's
// working copy.
//
// BehindState returns nil if there is no such attempt, or if the frame has no files of this worktree. It also returns
// nil if another run captured the files, for example the parent of a fork.
func BehindState(ctx context.Context, s *timeline.Store, at *timeline.LoadedEntry, worktree string) (*Behind, error) {
	vcs, err := at.Entry.VCSRevision()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	own := WorktreeOf(vcs, worktree)
	if own == nil || own.Tree.IsZero() || own.Frame >= at.Address.Frame {
		return nil, nil //nolint:nilnil // the files are as new as the frame's state
	}
	captured, err := s.At(ctx, timeline.Address{Run: at.Address.Run, Frame: own.Frame})
	if fault.CodeOf(err) == fault.FrameNotFound {
		return nil, nil //nolint:nilnil // the number belongs to the parent run
	}
	if err != nil {
		return nil, err
	}
	then, err := captured.Entry.VCSRevision()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if was := WorktreeOf(then, worktree); was == nil || was.Tree != own.Tree {
		return nil, nil //nolint:nilnil // the number belongs to another run's frame
	}
	ended, err := endedUncaptured(captured.Entry, at.Entry, worktree)
	if err != nil || len(ended) == 0 {
		return nil, timeline.Explain(err)
	}
	return &Behind{own.Frame, ended}, nil
}

// endedUncaptured returns the sorted keys of the attempts that ended between two entries and whose files were not
// captured. The entry from is the older entry, and the entry to is the newer entry. worktree is the task in whose own
// worktree the attempts worked, or "" for the run's working copy. endedUncaptured reads only the rows in which the
// journals of the entries differ.
func endedUncaptured(from, to *snapshot.Entry, worktree string) ([]string, error) {
	before, err := from.Attempts()
	if err != nil {
		return nil, err
	}
	now, err := to.Attempts()
	if err != nil {
		return nil, err
	}
	state, err := to.State()
	if err != nil {
		return nil, err
	}
	var keys []string
	for delta, err := range page.Diff(before, now) {
		if err != nil {
			return nil, err
		}
		if delta.To == nil {
			continue
		}
		a, err := snapshot.DecodeAttempt(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return nil, err
		}
		left, err := leftUncaptured(state, a)
		if err != nil {
			return nil, err
		}
		if left && a.Worktree == worktree {
			keys = append(keys, delta.Key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// leftUncaptured reports whether an attempt has ended, may have left files, and has no pointer to these files. A
// cancelled attempt does not count. An attempt of a node that waited for an approval, an answer or an event does
// not count, either, since it leaves no files. state is the state in the entry of the attempt's row.
func leftUncaptured(state *snapshot.State, a snapshot.Attempt) (bool, error) {
	if a.FinishedAtMs == nil || a.Frame != nil || a.CommitID != "" || a.State == snapshot.AttemptCancelled {
		return false, nil
	}
	key := snapshot.Key(a.NodeID, a.Iteration)
	for _, mail := range []*page.Collection{state.Approvals(), state.HumanRequests(), state.Waits()} {
		if _, waited, err := mail.Get(key); err != nil || waited {
			return false, err
		}
	}
	return true, nil
}
