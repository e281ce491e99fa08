package jjbridge

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Untracked returns the elements of changes, changes of a restore, at paths that the user's version control does not
// have. With git, these files are neither in the index nor in HEAD. With jj, the result is nil, because jj's commit has
// every captured file.
func (w *Workspace) Untracked(ctx context.Context, changes []PathChange) ([]PathChange, error) {
	if len(changes) == 0 || w.Type == snapshot.VCSJJ {
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
	out, err := w.gitWith(ctx, gitRun{args: args})
	if err != nil {
		return nil, err
	}
	tracked := make(map[string]bool)
	for _, path := range splitPaths(out) {
		tracked[path] = true
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c PathChange) bool { return tracked[c.Path] }), nil
}
