// Package jjbridge pairs the frames of a run with the revision of the working
// copy that they belong to.
//
// It asks the version control system itself, by its own commands, and never
// changes anything: no index, no lock, no ref.
package jjbridge

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Revision reads which commit the working copy of repo is on. It is nil where there
// is none: in a bare repository, and before the first commit. It runs git once. env is the environment git runs under.
func Revision(ctx context.Context, repo gitexec.Repo, env []string) (*snapshot.VCS, error) {
	if repo.WorkTree == "" {
		return nil, nil //nolint:nilnil // no revision is an answer, and no error
	}
	// The global option comes after the one for the common directory, so that the
	// HEAD is that of this worktree.
	out, err := gitexec.New(repo, env).Run(ctx, "--git-dir="+repo.GitDir, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	var failed *gitexec.Error
	if errors.As(err, &failed) && ctx.Err() == nil && len(out) == 0 && !errors.Is(err, gitexec.ErrNoGit) {
		return nil, nil //nolint:nilnil // HEAD is on a branch without a commit
	}
	if err != nil {
		return nil, err
	}
	return &snapshot.VCS{Type: snapshot.VCSGit, CommitID: strings.TrimSpace(string(out))}, nil
}
