package inspect

import (
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// repositoriesLeft returns the repositories in the working copy that the newest capture of a run left out, and the submodules whose
// changed files it left out, and what jj itself left out: none is in any frame. A path in a task's own worktree begins with worktrees/ and the task's name. Of a run
// without files, repositoriesLeft reads nothing.
func repositoriesLeft(store *timeline.Store, run *list.RunTimeline) ([]snapshot.LeftOut, error) {
	if len(run.Frames) == 0 || run.Frames[len(run.Frames)-1].VCS == nil {
		return nil, nil
	}
	head, err := run.Head(store)
	if err != nil {
		return nil, err
	}
	vcs, err := head.Entry().VCSRevision()
	if err != nil || vcs == nil {
		return nil, timeline.Explain(err)
	}
	var left []snapshot.LeftOut
	add := func(folder string, all []snapshot.LeftOut) {
		for _, l := range all {
			if l.Reason == snapshot.LeftEmbedded || l.Reason == snapshot.LeftDirty || l.Reason == snapshot.LeftByJJ {
				left = append(left, snapshot.LeftOut{Path: folder + l.Path, Reason: l.Reason, Bytes: l.Bytes})
			}
		}
	}
	add("", vcs.LeftOut)
	for _, own := range vcs.Worktrees {
		add("worktrees/"+own.Name+"/", own.LeftOut)
	}
	return left, nil
}
