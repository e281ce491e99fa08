package requests

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// tellFilled notes that a worktree was made with the files of a run's newest frame. run is the id of the run, and root
// is the folder of the worktree. files describes the files of the frame. If the capture left files out, tellFilled
// warns that these files are missing from the worktree.
func tellFilled(s *session.Session, run, root string, files *snapshot.VCS) {
	s.Note("made the worktree %s with the files of the newest frame of run %s", plain.Text(root), plain.Text(run))
	if len(files.LeftOut) > 0 {
		s.Warn(fmt.Errorf("files missing from %s, because they were not captured: %s", root, display.List(display.LeftOutNames(files.LeftOut))))
	}
}

// InOwnWorktree returns words about the worktree that the tasks of a run share, for the end of a note. There are four
// cases:
//   - The command was called in this worktree, or the run has no worktree. The result is "".
//   - The folder of the worktree is known. The result is ", in " and the folder.
//   - The folder is unknown. The result is ", in a worktree of its own".
//   - The worktree cannot be read. InOwnWorktree warns, and the result is "".
//
// With --quiet or --json, notes are not printed, so the result is always "".
func InOwnWorktree(s *session.Session, store *timeline.Store, head *timeline.Head) string {
	if s.Quiet || s.JSON {
		return ""
	}
	own, err := files.OwnWorktreeOf(store, head)
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
