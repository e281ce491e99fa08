package files

import (
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// maxStartCommits is the largest number of commits that WorktreeStart reads.
const maxStartCommits = 1000

// WorktreeStart returns the tree with which a task's own worktree began, before its first capture. run is the
// record of the run's working copy, and own is the record of the worktree. WorktreeStart looks for the run's
// commit in the first maxStartCommits commits of the worktree's history, along first parents. If the run's commit
// is there, the task has committed on top of it, and the result is the tree of the run's commit. Otherwise the
// result is the tree of the worktree's own commit, or the zero id if that commit is unreadable. For the commit of
// a jj workspace, see BaseOf.
func WorktreeStart(r objstore.Reader, run, own *snapshot.VCS) objstore.ID {
	at := BaseOf(r, own)
	want := BaseOf(r, run)
	for commit, n := at, 0; want != "" && commit != "" && n < maxStartCommits; n++ {
		tree, parents, err := jjbridge.ReadCommit(r, commit)
		if err != nil {
			break
		}
		if commit == want {
			return tree
		}
		// Continue with the first parent; "" ends the loop.
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

// BaseOf returns the id of the commit on which a working copy builds, or "" if the commit is unknown. v is the
// record of the working copy, or nil. With git, this is the commit that v names. With jj, this is the first parent
// of that commit, since jj's own commit holds the uncommitted changes.
func BaseOf(r objstore.Reader, v *snapshot.VCS) string {
	if v == nil || v.Type != snapshot.VCSJJ {
		return commitOf(v)
	}
	_, parents, err := jjbridge.ReadCommit(r, v.CommitID)
	if err != nil || len(parents) == 0 {
		return ""
	}
	return parents[0]
}

// commitOf returns the id of the commit that v names, or "" if v is nil.
func commitOf(v *snapshot.VCS) string {
	if v == nil {
		return ""
	}
	return v.CommitID
}
