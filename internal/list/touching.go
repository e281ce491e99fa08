package list

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// pathSearch finds the frames of a run that changed a path. It visits the frames from the newest to the
// oldest.
type pathSearch struct {
	store   *timeline.Store
	run     string
	objects objstore.Reader
	path    string // "" is the top of the working copy
	// newer has, for each working copy by name ("" is the shared working copy), the last visited files, and
	// the oldest visited frame with exactly these files.
	newer map[string]newerFiles
	id    objstore.ID            // the id of the vcs.json that was read last
	vcs   *snapshot.VCS          // the content of that vcs.json; nil if the frame has no vcs.json
	trees map[string]objstore.ID // the captured trees in vcs, by working copy
	at    *snapshot.Entry        // the current frame
	found map[int64]FrameMatch   // by frame number
	paths *int                   // the number of paths found, including those of other runs
}

// newerFiles is a captured tree, the oldest known frame that has the tree, and the revision of the working copy at that
// frame.
type newerFiles struct {
	tree  objstore.ID
	frame *snapshot.Entry
	vcs   *snapshot.VCS
}

// framesTouching returns the frames of the run of tip that changed path, sorted by number. It compares the
// captured files of each frame with the files captured before, back to the frame from which the run was
// forked. It adds the number of changed paths to *paths. The error is objstore.ErrTreeSize if *paths exceeds
// the limit for one tree.
func framesTouching(ctx context.Context, s *timeline.Store, tip *snapshot.Entry, path string, paths *int) ([]FrameMatch, error) {
	t := &pathSearch{
		store: s, run: tip.Run, objects: s.Objects(), path: path, newer: make(map[string]newerFiles),
		found: make(map[int64]FrameMatch), paths: paths,
	}
	for entry, err := range snapshot.Ancestry(s.Objects(), tip) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if entry.Frame == snapshot.NoFrame {
			continue
		}
		if err := t.look(ctx, entry); err != nil {
			return nil, err
		}
		if entry.Run != tip.Run {
			break
		}
	}
	return slices.SortedFunc(maps.Values(t.found), func(a, b FrameMatch) int { return cmp.Compare(a.FrameNo, b.FrameNo) }), nil
}

// look compares the files of frame with the files of the newer frames in t.newer, for each working copy. The
// caller visits the frames from newest to oldest. After the comparison, look puts the files of frame into t.newer.
// If a newer frame is the first capture of a worktree, lookAtFirsts compares that capture.
func (t *pathSearch) look(ctx context.Context, frame *snapshot.Entry) error {
	id, err := frame.VCSID()
	if err != nil {
		return err
	}
	// Frames often have the same revision, so its trees are read only once.
	if id != t.id || t.trees == nil {
		t.id, t.vcs, t.trees = id, nil, make(map[string]objstore.ID)
		if !id.IsZero() {
			if t.vcs, err = frame.VCSRevision(); err != nil {
				return err
			}
			t.trees = files.TreesOf(t.vcs)
		}
	}
	t.at = frame
	if err := t.lookAtFirsts(ctx); err != nil {
		return err
	}
	for name, tree := range t.trees {
		if newer, ok := t.newer[name]; ok && newer.tree != tree {
			if err := t.compare(ctx, name, tree, newer); err != nil {
				return err
			}
		}
		t.newer[name] = newerFiles{tree, frame, files.WorktreeOf(t.vcs, name)}
	}
	return nil
}

// lookAtFirsts compares the first capture of each task's own worktree with the files from which the worktree
// started. A capture is the first if the current frame, which is older, has no capture of the worktree.
func (t *pathSearch) lookAtFirsts(ctx context.Context) error {
	for name, first := range t.newer {
		if _, older := t.trees[name]; older || name == "" {
			continue
		}
		delete(t.newer, name)
		start := files.WorktreeStart(t.objects, t.vcs, first.vcs)
		if start.IsZero() || start == first.tree {
			continue
		}
		if err := t.compare(ctx, name, start, first); err != nil {
			return err
		}
	}
	return nil
}

// compare records in t.found the changes at the path between two trees of a working copy. olderTree is the older
// tree, and newerSide has the newer tree and its frame. name is the name of the working copy. If all searched runs
// together changed too many paths, the error wraps objstore.ErrTreeSize.
func (t *pathSearch) compare(ctx context.Context, name string, olderTree objstore.ID, newerSide newerFiles) error {
	changes, err := files.ChangedFiles(ctx, t.objects, olderTree, newerSide.tree, t.path)
	if err != nil || len(changes) == 0 {
		return err
	}
	if *t.paths += len(changes); *t.paths > objstore.MaxTreePaths {
		return objstore.TreeSize{Paths: int64(*t.paths)}.Check(newerSide.tree)
	}
	match, ok := t.found[newerSide.frame.Frame]
	if !ok {
		if match, err = matchOf(newerSide.frame); err != nil {
			return err
		}
	}
	if err := t.since(ctx, name, &match); err != nil {
		return err
	}
	match.Paths = append(match.Paths, changes...)
	slices.SortFunc(match.Paths, func(a, b jjbridge.PathChange) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Op, b.Op))
	})
	match.Paths = slices.Compact(match.Paths)
	t.found[newerSide.frame.Frame] = match
	return nil
}

// since sets match.Since if a frame before match's frame may have made the change. The current frame is the older side
// of the comparison. The change may be earlier if the files of the current frame were captured at a still older frame,
// and attempts have ended since that capture. match.Since is then the number of the frame of the capture, unless it
// already has a lower number. name is the name of the working copy. If the current frame belongs to the parent run,
// since does nothing.
func (t *pathSearch) since(ctx context.Context, name string, match *FrameMatch) error {
	if t.at.Run != t.run {
		return nil
	}
	behind, err := files.BehindState(ctx, t.store, &timeline.LoadedEntry{Address: timeline.Address{Run: t.run, Frame: t.at.Frame}, Entry: t.at}, name)
	if err != nil || behind == nil {
		return err
	}
	if match.Since == nil || *match.Since > behind.Frame {
		match.Since = &behind.Frame
	}
	return nil
}
