package worktrees

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
)

// abandonSaved abandons the change of a workspace before its removal, because jj would keep showing the change. It
// requires that the change's files are exactly those of the tree with the id saved, so a frame has the files. The
// change must also be neither empty nor in conflict, have no description, and no bookmark, tag, remote or other change
// may keep it. Otherwise, or if saved is zero, abandonSaved does nothing.
func abandonSaved(ctx context.Context, w *jjbridge.Workspace, info Info, saved objstore.ID) error {
	if saved.IsZero() {
		return nil
	}
	own := quote(info.Name) + "@"
	out, _, err := w.RunJJ(ctx, "log", "--ignore-working-copy", "--no-graph", `--template=if(!description && !empty && !conflict, commit_id)`,
		"--revisions=present("+own+") ~ ::(bookmarks() | remote_bookmarks() | tags() | (visible_heads() ~ present("+own+"))"+
			" | (working_copies() ~ present("+own+")))")
	commit := strings.TrimSpace(string(out))
	if err != nil || commit == "" {
		return err
	}
	if tree, err := w.OneID(ctx, commit+"^{tree}"); err != nil || tree != saved.String() {
		return err
	}
	_, _, err = w.RunJJ(ctx, "abandon", "--ignore-working-copy", "--quiet", "--", commit)
	return err
}
