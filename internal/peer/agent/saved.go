package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// shownUnsaved is the number of unsaved files that an error names.
const shownUnsaved = 5

// CheckSaved returns an error if the working copy of a session has files that are neither in the session's newest state nor in the commit
// that is checked out. Codes: unsaved_work; no_working_copy if there is no working copy.
func CheckSaved(ctx context.Context, s *timeline.Store, at timeline.Address) (err error) {
	head, err := s.Head(ctx, at.Run)
	if err != nil {
		return err
	}
	files, err := files.WorktreeFiles(ctx, s, head, at, "")
	if err != nil {
		return err
	}
	captured, err := files.Capture(ctx)
	if err != nil || captured == nil {
		return timeline.Explain(err)
	}
	defer func() { err = errors.Join(err, captured.Close()) }()
	if captured.VCS.Tree.IsZero() {
		return nil // files are not captured here, so that nobody knows
	}
	newest, err := head.Entry().VCSRevision()
	if err != nil {
		return timeline.Explain(err)
	}
	if newest != nil && newest.Tree == captured.VCS.Tree {
		return nil
	}
	commit := objstore.ID{}
	if captured.VCS.CommitID != "" {
		commit, _, err = jjbridge.ReadCommit(s.Objects(), captured.VCS.CommitID)
	}
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return timeline.Explain(err)
	}
	if commit == captured.VCS.Tree && captured.VCS.Type == snapshot.VCSGit {
		return nil
	}
	than := commit
	if newest != nil && !newest.Tree.IsZero() {
		than = newest.Tree
	}
	return unsaved(ctx, s, captured, than)
}

// unsaved returns the error that names the captured files that differ from the tree.
func unsaved(ctx context.Context, s *timeline.Store, captured *jjbridge.CapturedFiles, tree objstore.ID) error {
	objects := s.Objects().Begin() // reads what was captured, and is never committed
	names := []string{}
	err := captured.Objects(objects)
	if err == nil && !tree.IsZero() {
		var changes []jjbridge.PathChange
		changes, err = files.ChangedFiles(ctx, objects, tree, captured.VCS.Tree, "")
		for _, change := range changes {
			names = append(names, snapshot.EscapePath(change.Path)) // as JSON spells it
		}
	}
	if err != nil {
		return timeline.Explain(err)
	}
	message := "the working copy has unsaved changes"
	if len(names) > 0 {
		message = fmt.Sprintf("the working copy has unsaved changes in %s: %s", plain.Count(len(names), "file"),
			strings.Join(names[:min(len(names), shownUnsaved)], ", "))
	}
	return fault.New(fault.UnsavedWork, "%s", plain.Text(message)).
		Hint("--force saves them as a frame of the session and goes on; --to DIR leaves them alone").Detail("files", names)
}
