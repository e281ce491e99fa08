package code

import (
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// maxStartCommits is the largest number of commits that WorktreeStart reads.
const maxStartCommits = 1000

// WorktreeStart returns the files with which a task's own worktree began, before its first capture. run is the
// record of the run's working copy, and own the record of the worktree. If the run's commit is among the
// first-parent ancestors of the worktree's commit, the task has committed on top, and the result has the files
// of the run's commit. Otherwise the result has the files of the worktree's own commit, or is the zero id if
// that commit is unreadable.
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

// baseOf returns the commit on which a working copy builds, or "" if the commit is unknown. With jj, baseOf
// returns the parent of the working copy's commit, since the working copy's commit holds the changes.
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

// commitOf returns the commit that v names, or "" if v is nil.
func commitOf(v *snapshot.VCS) string {
	if v == nil {
		return ""
	}
	return v.CommitID
}
