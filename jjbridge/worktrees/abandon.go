package worktrees

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// abandonSaved abandons the change of a workspace before the workspace is removed, because jj would keep showing the
// change. info describes the workspace. savedTree is the id of a tree in a frame. abandonSaved does nothing if
// savedTree is zero, or in one of these cases:
//   - The change's files are not exactly those of savedTree, so a frame may lack them.
//   - The change is empty or in conflict, or has a description.
//   - The change has a bookmark, a tag or a child, or another workspace builds on it.
func abandonSaved(ctx context.Context, w *jjbridge.Workspace, info Info, savedTree objstore.ID) error {
	commit, err := savedChange(ctx, w, quote(info.Name)+"@", "bookmarks()", savedTree)
	if err == nil && commit != "" {
		_, _, err = w.RunJJ(ctx, "abandon", "--ignore-working-copy", "--quiet", "--", commit)
	}
	return err
}

// savedChange returns the commit of the revset own, or "" in the cases in which abandonSaved does nothing. bookmarks is the revset of the
// bookmarks that count.
func savedChange(ctx context.Context, w *jjbridge.Workspace, own, bookmarks string, savedTree objstore.ID) (string, error) {
	if savedTree.IsZero() {
		return "", nil
	}
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", `--template=if(!description && !empty && !conflict, commit_id)`,
		// The revset leaves out the change if another commit or a name reaches the change.
		"--revisions=present("+own+") ~ ::("+bookmarks+" | remote_bookmarks() | tags() | (visible_heads() ~ present("+own+"))"+
			" | (working_copies() ~ present("+own+")))")
	commit := strings.TrimSpace(string(out))
	if err != nil || commit == "" {
		return "", err
	}
	if tree, err := w.OneID(ctx, commit+"^{tree}"); err != nil || tree != savedTree.String() {
		return "", err
	}
	return commit, nil
}
