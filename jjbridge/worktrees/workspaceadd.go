package worktrees

import (
	"cmp"
	"context"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// WorkspaceAdd is Smithers' workspaceAdd in one call: it adds a working copy to the repository of the folder dir, as Add does, and returns it. path
// is absolute. name is the name of a jj workspace, or "" for the folder's name; git needs none. revision is where the working copy
// starts: any revision of git or, in a jj workspace, a revset of one commit. If revision is "", that is the commit on which dir's working copy
// builds. env is the environment of git and jj. If there is no such revision, the error is an *Error.
func WorkspaceAdd(ctx context.Context, dir string, env []string, name, path, revision string) (*jjbridge.Workspace, error) {
	w, err := jjbridge.Locate(ctx, dir, env)
	if err != nil {
		return nil, err
	}
	if revision == "" && w.Type == snapshot.VCSJJ {
		revision = "@-"
	}
	commit, err := jjbridge.ResolveCommit(ctx, w, cmp.Or(revision, "HEAD"))
	if err != nil {
		return nil, err
	}
	id, err := objstore.ParseID(commit)
	if err != nil { // commit is ""
		return nil, &Error{Path: path, Reason: "there is no revision " + revision, Err: ErrNoCommit}
	}
	return Add(ctx, w, AddRequest{Path: path, Name: name, Commit: id})
}
