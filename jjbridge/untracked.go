package jjbridge

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Untracked returns the files, sorted by path, that plan removes and that the user's version control does not
// have. With git, these files are neither in the index nor in HEAD. With jj, the result is nil, because jj's
// commit has every captured file.
func (w *Workspace) Untracked(ctx context.Context, plan *Plan) ([]string, error) {
	removed := make(map[string]bool)
	for _, change := range plan.Changes {
		if change.Op == OpRemove {
			removed[change.Path] = true
		}
	}
	if len(removed) == 0 || w.Type == snapshot.VCSJJ {
		return nil, nil
	}
	commit, _, err := w.Head(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{"ls-files", "-z", "--cached", "--full-name"}
	if commit != "" {
		args = append(args, "--with-tree="+commit)
	}
	tracked, err := w.gitWith(ctx, gitRun{args: args})
	if err != nil {
		return nil, err
	}
	for _, path := range splitPaths(tracked) {
		delete(removed, path)
	}
	var untracked []string
	for _, change := range plan.Changes {
		if removed[change.Path] {
			untracked = append(untracked, change.Path)
		}
	}
	return untracked, nil
}
