package files

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// OwnWorktree is the worktree that the tasks of a run share, instead of the working copy in which the store is
// open.
type OwnWorktree struct {
	Path   string // the path at which this clone made the worktree; "" if this clone never made the worktree, or pruned it
	Replay bool   // a replay made the worktree for the files of a frame, even if the workflow does not ask for a worktree
	Linked bool   // the store is open in a linked worktree or an additional jj workspace, which may be this worktree
}

// OwnWorktreeOf returns the worktree that the tasks of a run share, even if the worktree does not exist yet or is
// missing. It returns nil if the tasks work in the working copy in which the run is resumed. A fork that began as
// a replay on the files of a frame always has its own worktree. head is the run's head.
func OwnWorktreeOf(s *timeline.Store, head *timeline.Head) (*OwnWorktree, error) {
	own := &OwnWorktree{Linked: !s.Workspace().IsMain()}
	made, err := findMade(s, head.Row().ID, "")
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if made != nil {
		own.Path, own.Replay = made.Path, made.Replay
		return own, nil
	}
	if own.Replay, err = isReplayOfFiles(s, head); err != nil || own.Replay {
		return own, timeline.Explain(err)
	}
	asks, err := asksForWorktree(s, head.Entry())
	if err != nil || !asks {
		return nil, timeline.Explain(err)
	}
	return own, nil
}

// asksForWorktree reports whether the workflow of a run asks for a worktree, according to the rendered tree of the
// run's entry. If the tree has another engine's form, asksForWorktree returns false.
func asksForWorktree(s *timeline.Store, entry *snapshot.Entry) (bool, error) {
	rendered, err := s.FrameCache().Rendered(s.Objects(), entry)
	if err != nil {
		return false, err
	}
	var root struct {
		Tag   string                     `json:"tag"`
		Props map[string]json.RawMessage `json:"props"`
	}
	if err := json.Unmarshal(rendered, &root); err != nil {
		return false, nil //nolint:nilerr // the tree of another engine may have any form
	}
	_, asks := root.Props["worktree"]
	return asks && root.Tag == "smithers:workflow", nil
}

// isReplayOfFiles reports whether a run began as a replay on the files of a frame. The run then is a fork, and the
// events of its first entry have a ReplayStarted with restoreVcs.
func isReplayOfFiles(s *timeline.Store, head *timeline.Head) (bool, error) {
	if head.Row().Parent == nil {
		return false, nil
	}
	var first *snapshot.Entry // the chain is newest first, so the last entry of the loop remains
	for entry, err := range s.Chain(head.Entry()) {
		if err != nil {
			return false, err
		}
		if entry.Run == head.Row().ID {
			first = entry
		}
	}
	if first == nil {
		return false, nil
	}
	events, err := first.Events()
	if err != nil {
		return false, err
	}
	for _, event := range events {
		var payload struct {
			RestoreVCS bool `json:"restoreVcs"`
		}
		if event.Type == "ReplayStarted" && json.Unmarshal(event.Payload, &payload) == nil && payload.RestoreVCS {
			return true, nil
		}
	}
	return false, nil
}

// noOwnWorktree returns no_working_copy for a run whose own worktree is missing, since the run's files must not go to
// another working copy instead. own is the missing worktree. The hints have the commands that make the worktree again.
// The parameter at is the address of the wanted files.
func noOwnWorktree(head *timeline.Head, at timeline.Address, own *OwnWorktree) error {
	out := fault.New(fault.NoWorkingCopy, "run %q works in its own worktree, which is missing", at.Run)
	if own.Path != "" {
		out = fault.New(fault.NoWorkingCopy, "run %q works in its own worktree, which is no longer at %s", at.Run, own.Path)
	}
	out = out.Hint("`git smithers restore %s --to DIR` makes a new worktree with the run's files", fault.Word(at.String()))
	if head.Row().Status == snapshot.RunFinished {
		return out
	}
	return out.Hint("`git smithers resume %s` makes the worktree again, with the files of the newest frame, and continues the run", fault.Word(at.Run))
}
