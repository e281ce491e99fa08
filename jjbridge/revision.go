package jjbridge

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ResolveCommit returns the id of the commit that revision names, or "" if there is no such commit. revision is any
// revision of git or, in a jj workspace, a revset with exactly one commit. There, @ is jj's working-copy commit and not git's HEAD. If revision looks like an option, git finds
// no commit. ResolveCommit does not make jj take a snapshot.
func ResolveCommit(ctx context.Context, w *Workspace, revision string) (string, error) {
	if strings.HasPrefix(revision, ":/") { // in git's syntax, a text to search for follows
		return w.OneID(ctx, revision)
	}
	if w.Type != snapshot.VCSJJ || revision != "@" {
		commit, err := w.CommitOf(ctx, revision)
		if err != nil || commit != "" || w.Type != snapshot.VCSJJ {
			return commit, err
		}
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", "--limit=2", `--template=commit_id ++ "\n"`, "--revisions="+revision)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 && ctx.Err() == nil {
		return "", nil
	}
	commits := strings.Fields(string(out))
	if err != nil || len(commits) != 1 {
		return "", err
	}
	return commits[0], nil
}

// CommitOf returns the id of the commit that git finds for revision, or "" if git finds no commit.
func (w *Workspace) CommitOf(ctx context.Context, revision string) (string, error) {
	return w.OneID(ctx, revision+"^{commit}")
}

// OneID returns the id of the object that git finds for name, any revision in git's syntax. It returns "" if git finds
// no object, or if name is an option or excludes commits, as "^main" does.
func (w *Workspace) OneID(ctx context.Context, name string) (string, error) {
	out, err := w.RunGit(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Status > 0 && ctx.Err() == nil {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id, err := objstore.ParseID(strings.TrimSpace(string(out)))
	if err != nil {
		return "", nil //nolint:nilerr // "^" and an id: a set of commits, not an object
	}
	return id.String(), nil
}
