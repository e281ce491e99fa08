package jjbridge

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ResolveCommit returns the id of the commit that a revision names, or "" for none: any revision that git takes and, in a
// jj workspace, a revset of one commit. What looks like an option is no revision. With jj it takes no snapshot.
func ResolveCommit(ctx context.Context, w *Workspace, revision string) (string, error) {
	if strings.HasPrefix(revision, ":/") { // to its end it is a text to search for
		return w.oneID(ctx, revision)
	}
	commit, err := w.commitOf(ctx, revision)
	if err != nil || commit != "" || w.Type != snapshot.VCSJJ {
		return commit, err
	}
	out, _, err := w.jj(ctx, "log", "--ignore-working-copy", "--no-graph", "--limit=2", `--template=commit_id ++ "\n"`, "--revisions="+revision)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 && ctx.Err() == nil {
		return "", nil
	}
	commits := strings.Fields(string(out))
	if err != nil || len(commits) != 1 {
		return "", err
	}
	return commits[0], nil
}
