package files

import (
	"context"
	"errors"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Apply changes files of the working copy, as a restore changes them, and reports whether the edits fit. They fit if each of the files is
// as its edit expects or makes it, and no other file is in the way; a file that captures leave out is neither. If they do not fit,
// no file is changed. The caller keeps what the files were before: the edits name it. Code: no_working_copy if there is none.
func (c *WorkingCopy) Apply(ctx context.Context, edits []jjbridge.FileEdit) (fits bool, err error) {
	if c.Root() == "" {
		return false, noWorkingCopy()
	}
	now, err := c.read(ctx, snapshot.ScopeAll)
	if err != nil {
		return false, timeline.Explain(err)
	}
	for _, e := range edits {
		if jjbridge.IsLeftOut(now.VCS.LeftOut, e.Path) {
			return false, now.Close()
		}
	}
	fits, err = c.workspace.ApplyEdits(ctx, now, edits)
	return fits, timeline.Explain(errors.Join(err, now.Close()))
}
