package desk

import (
	"fmt"

	"github.com/git-smithers/git-smithers/cli/display"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// tellFilled notes that a worktree was made with the files of a run's newest frame. It warns of files that are missing
// because the frame does not have them. root is the folder of the worktree.
func tellFilled(s *session.Session, run, root string, files *snapshot.VCS) {
	s.Note("made the worktree %s with the files of the newest frame of run %s", plain.Text(root), plain.Text(run))
	if len(files.LeftOut) > 0 {
		s.Warn(fmt.Errorf("files missing from %s, because they were not captured: %s", root, display.List(display.LeftOutNames(files.LeftOut))))
	}
}

// InOwnWorktree returns ", in <folder>" if the tasks of a run share a worktree other than the working copy in which the
// command was called. If the folder is unknown, "a worktree of its own" stands for it. InOwnWorktree returns "" if the
// tasks share no such worktree, and with --quiet or --json. If it cannot find out, it warns and returns "".
func InOwnWorktree(s *session.Session, store *timeline.Store, head *timeline.Head) string {
	if s.Quiet || s.JSON {
		return ""
	}
	own, err := code.OwnWorktreeOf(store, head)
	switch {
	case err != nil:
		s.Warn(err)
		return ""
	case own == nil || own.Path == store.Workspace().Root:
		return ""
	case own.Path == "":
		return ", in a worktree of its own"
	}
	return ", in " + plain.Text(own.Path)
}
