package land

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Files returns the files after the undo: those of have, in which the paths that the landing changed are as before it.
// Other files stay as they are. before is the record of the files before the landing. Files has the signature of
// files.RestoreJob.Merge, apart from before.
func (t *TakeBack) Files(ctx context.Context, have *jjbridge.CapturedFiles, before *snapshot.VCS) (*snapshot.VCS, error) {
	paths, err := t.landedPaths(ctx, before.Tree)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	return files.WorkingCopyOf(t.s).WithPaths(ctx, have, before.Tree, paths)
}

// landedPaths returns the paths of the working copy that the landing changed. before is the tree of the files before. If
// the landing was interrupted, the paths are those that it would have changed.
func (t *TakeBack) landedPaths(ctx context.Context, before objstore.ID) ([]string, error) {
	w := t.s.Workspace()
	if t.op.Frame != nil {
		return files.WorkingCopyOf(t.s).PathsSince(ctx, before, timeline.Address{Run: t.run, Frame: *t.op.Frame})
	}
	from, to := t.head, t.tree
	if w.Type == snapshot.VCSJJ {
		var err error
		if from, err = t.treeOf(t.r.Base); err == nil && len(t.r.Commits) > 0 {
			to, err = t.treeOf(t.r.Commits[len(t.r.Commits)-1])
		}
		if err != nil {
			return nil, err
		}
	}
	paths, err := w.ChangedPaths(ctx, from, to)
	return append(paths, t.r.paths()...), err
}

// treeOf returns the tree of a commit.
func (t *TakeBack) treeOf(commit string) (objstore.ID, error) {
	id, err := objstore.ParseID(commit)
	if err != nil {
		return id, err
	}
	return timeline.CommitTree(t.s.Objects(), id)
}

// Holds reports whether the landing of head has brought a frame of a run's working copy, or a later one, into the working copy of the store, and was neither
// taken back nor left with conflicts. It returns false for a landing that cannot be read.
func Holds(s *timeline.Store, head *timeline.Head, at timeline.Address) bool {
	op, done, err := landOp(head)
	if err != nil || !done || op.UndoneBy != 0 {
		return false
	}
	input, err := head.State().Input()
	var r record
	if err != nil || json.Unmarshal(input, &r) != nil || r.WorkCopy != s.Workspace().Name || r.Mode == Branch {
		return false
	}
	if open, err := openLanding(s); err != nil || open == head.Row().ID && len(r.Conflicts) > 0 {
		return false
	}
	return slices.ContainsFunc(r.Landed, func(f landedFrame) bool { return f.Run == at.Run && f.To >= at.Frame && f.Worktree == "" })
}
