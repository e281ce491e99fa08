package code

import (
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// maxStartCommits bounds how many commits WorktreeStart reads.
const maxStartCommits = 1000

// WorktreeStart returns the files that a task's own worktree began with, before its first capture. If the task has
// committed on top of the run's commit, they are the files of the run's commit, and otherwise those of the worktree's
// own commit. It returns the zero id if that commit is unreadable.
func WorktreeStart(r objstore.Reader, run, own *snapshot.VCS) objstore.ID {
	at := baseOf(r, own)
	want := baseOf(r, run)
	for commit, n := at, 0; want != "" && commit != "" && n < maxStartCommits; n++ {
		tree, parents, err := jjbridge.ReadCommit(r, commit)
		if err != nil {
			break
		}
		if commit == want {
			return tree
		}
		if commit = ""; len(parents) > 0 {
			commit = parents[0]
		}
	}
	tree, _, err := jjbridge.ReadCommit(r, at)
	if err != nil {
		return objstore.ID{}
	}
	return tree
}

// baseOf returns the commit that a working copy is based on, or "" if it is unknown. With jj it is the parent of the
// working copy's commit, since that commit has the changes.
func baseOf(r objstore.Reader, v *snapshot.VCS) string {
	if v == nil || v.Type != snapshot.VCSJJ {
		return commitOf(v)
	}
	_, parents, err := jjbridge.ReadCommit(r, v.CommitID)
	if err != nil || len(parents) == 0 {
		return ""
	}
	return parents[0]
}

func commitOf(v *snapshot.VCS) string {
	if v == nil {
		return ""
	}
	return v.CommitID
}
