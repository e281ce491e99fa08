package list

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// touching finds the frames of a run that changed a path, from the newest down.
type touching struct {
	store   *timeline.Store
	run     string
	objects objstore.Reader
	path    string
	// newer are the working copies by their names, "" for the run's own, as the frames
	// had them that were looked at so far, and the oldest frame which had them so.
	newer map[string]capturedIn
	id    objstore.ID            // of the vcs.json that was read last
	vcs   *snapshot.VCS          // it
	trees map[string]objstore.ID // what it says
	at    *snapshot.Entry        // the frame that is looked at
	found map[int64]FrameMatch
	paths *int // how many were found, in the runs before this one, too
}

type capturedIn struct {
	tree  objstore.ID
	frame *snapshot.Entry
	vcs   *snapshot.VCS
}

// framesTouching walks a run's chain from its tip down, as far as the frame it was
// forked from, and compares what each frame has captured with what was captured last
// before. It adds to paths how many it finds, up to the bound of one tree.
func framesTouching(ctx context.Context, s *timeline.Store, tip *snapshot.Entry, path string, paths *int) ([]FrameMatch, error) {
	t := &touching{
		store: s, run: tip.Run, objects: s.Objects(), path: path, newer: make(map[string]capturedIn),
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

// look compares the frames that were looked at before with an older one.
func (t *touching) look(ctx context.Context, frame *snapshot.Entry) error {
	id, err := frame.VCSID()
	if err != nil {
		return err
	}
	if id != t.id || t.trees == nil {
		t.id, t.vcs, t.trees = id, nil, make(map[string]objstore.ID)
		if !id.IsZero() {
			if t.vcs, err = frame.VCSRevision(); err != nil {
				return err
			}
			t.trees = code.TreesOf(t.vcs)
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
		t.newer[name] = capturedIn{tree, frame, code.WorktreeOf(t.vcs, name)}
	}
	return nil
}

// lookAtFirsts compares the first captures of tasks' own worktrees, those that the older frame
// does not have, with what the worktrees began with.
func (t *touching) lookAtFirsts(ctx context.Context) error {
	for name, first := range t.newer {
		if _, older := t.trees[name]; older || name == "" {
			continue
		}
		delete(t.newer, name)
		start := code.WorktreeStart(t.objects, t.vcs, first.vcs)
		if start.IsZero() || start == first.tree {
			continue
		}
		if err := t.compare(ctx, name, start, first); err != nil {
			return err
		}
	}
	return nil
}

// compare notes what a frame has changed of a tree, which the frame looked at has as before.
func (t *touching) compare(ctx context.Context, name string, before objstore.ID, now capturedIn) error {
	changes, err := code.ChangedFiles(ctx, t.objects, before, now.tree, t.path)
	if err != nil || len(changes) == 0 {
		return err
	}
	if *t.paths += len(changes); *t.paths > objstore.MaxTreePaths {
		return objstore.TreeSize{Paths: int64(*t.paths)}.Check(now.tree)
	}
	match, ok := t.found[now.frame.Frame]
	if !ok {
		if match, err = matchOf(now.frame); err != nil {
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
	t.found[now.frame.Frame] = match
	return nil
}

// since notes from when on the files of a working copy may have become what they are at a
// match, if the frame before it was not captured.
func (t *touching) since(ctx context.Context, name string, match *FrameMatch) error {
	if t.at.Run != t.run {
		return nil
	}
	behind, err := code.FilesBehind(ctx, t.store, &timeline.Loaded{Address: timeline.Address{Run: t.run, Frame: t.at.Frame}, Entry: t.at}, name)
	if err != nil || behind == nil {
		return err
	}
	if match.Since == nil || *match.Since > behind.Frame {
		match.Since = &behind.Frame
	}
	return nil
}
