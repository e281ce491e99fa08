package agent

import (
	"errors"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// GitState is where a working copy stood when its files were captured.
type GitState struct {
	Branch *string `json:"branch"`   // nil if no branch was checked out
	Head   *string `json:"head_sha"` // the id of the commit; nil if there was none
	Dirty  *bool   `json:"dirty"`    // the files differ from those of the commit; nil if this is unknown
}

// gitStateOf returns the state in the record of a capture, which can be nil. Dirty is unknown if no files were captured, or if the
// repository lacks the commit.
func gitStateOf(objects objstore.Reader, vcs *snapshot.VCS) (GitState, error) {
	var state GitState
	if vcs == nil {
		return state, nil
	}
	if vcs.Branch != "" {
		state.Branch = &vcs.Branch
	}
	if vcs.CommitID == "" {
		return state, nil
	}
	state.Head = &vcs.CommitID
	if vcs.Tree.IsZero() {
		return state, nil
	}
	tree, _, err := jjbridge.ReadCommit(objects, vcs.CommitID)
	if errors.Is(err, objstore.ErrNotFound) {
		return state, nil
	}
	if err == nil {
		dirty := tree != vcs.Tree
		state.Dirty = &dirty
	}
	return state, timeline.Explain(err)
}
