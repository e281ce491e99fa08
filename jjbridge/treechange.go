package jjbridge

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// TreeChange is the change from one captured tree to another, without the files that a capture left out.
type TreeChange struct {
	To      objstore.ID  // the later tree; files that a capture left out are as in the earlier tree
	Changes []PathChange // sorted by path
	LeftOut []string     // paths that differ only because a capture left the files out, sorted
	Modules []string     // changed submodules, sorted
}

// TreeChange compares two captured trees. A file that the later tree lacks is not a removal if a capture left it out, or
// if the .gitignore files of the later tree ignore it. before and after are the records of the captures. Objects of new
// trees are added to c.
func (w *Workspace) TreeChange(ctx context.Context, c *CapturedFiles, before, after *snapshot.VCS) (*TreeChange, error) {
	plan := &Plan{From: before.Tree, To: after.Tree, repository: c.repository}
	var err error
	if plan.edits, err = plan.compare(ctx, w); err != nil {
		return nil, err
	}
	ignored, err := plan.ignored(ctx, w, true) // the index of today is not that of the captures
	if err != nil {
		return nil, err
	}
	left, err := w.untrackedThen(ctx, before, after)
	if err != nil {
		return nil, err
	}
	taken := make(map[string]bool) // the paths at which the later tree has another file
	for _, e := range plan.edits {
		taken[e.path] = e.to.exists()
	}
	out := &TreeChange{To: after.Tree}
	var kept []edit
	for _, e := range plan.edits {
		removed := !e.to.exists()
		switch {
		case IsLeftOut(before.LeftOut, e.path), IsLeftOut(after.LeftOut, e.path), removed && IsLeftOut(ignored, e.path) && !isBelow(e.path, taken), left(e):
			kept = append(kept, e)
			out.LeftOut = append(out.LeftOut, e.path)
			continue
		case e.from.isModule() || e.to.isModule():
			out.Modules = append(out.Modules, e.path)
		}
		out.Changes = append(out.Changes, e.change())
	}
	if len(kept) > 0 {
		out.To, err = w.without(ctx, c, after.Tree, kept)
	}
	return out, err
}

// TakeBack returns the tree of the captured files c without the changes from one tree to another: a file that is as in the tree to becomes as
// in the tree from. A file that has been changed since stays. Objects of new trees are added to c.
func (w *Workspace) TakeBack(ctx context.Context, c *CapturedFiles, from, to objstore.ID) (objstore.ID, error) {
	made, err := (&Plan{From: from, To: to, repository: c.repository}).compare(ctx, w)
	if err != nil || len(made) == 0 {
		return c.VCS.Tree, err
	}
	objects, err := c.directory(ctx, w)
	if err != nil {
		return objstore.ID{}, err
	}
	since, err := (&Plan{From: to, To: c.VCS.Tree, objects: objects, repository: c.repository}).compare(ctx, w)
	if err != nil {
		return objstore.ID{}, err
	}
	changed := make(map[string]bool, len(since))
	for _, e := range since {
		changed[e.path] = true
	}
	made = slices.DeleteFunc(made, func(e edit) bool { return changed[e.path] })
	if len(made) == 0 {
		return c.VCS.Tree, nil
	}
	return w.without(ctx, c, c.VCS.Tree, made)
}

// isBelow reports whether a folder of a path is one of the files: then nothing can be at the path.
func isBelow(file string, files map[string]bool) bool {
	for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
		if files[folder] {
			return true
		}
	}
	return false
}

// untrackedThen returns a function that reports whether an edit may come from a capture that took tracked files alone,
// or that could not list all files that it left out. Of such captures, the removal or addition of a file counts only if
// the other capture's commit has the file.
func (w *Workspace) untrackedThen(ctx context.Context, before, after *snapshot.VCS) (func(edit) bool, error) {
	partial := func(v *snapshot.VCS) bool {
		return v.Scope == snapshot.ScopeTracked || v.LeftOutMore > 0 || slices.ContainsFunc(v.LeftOut, func(l snapshot.LeftOut) bool {
			return l.Reason == snapshot.LeftUntracked && l.Path == ""
		})
	}
	tracked := func(v *snapshot.VCS) (map[string]bool, error) {
		files := make(map[string]bool)
		if id, err := objstore.ParseID(v.CommitID); err != nil || id.IsZero() {
			return files, nil //nolint:nilerr // without a commit, no file is known as tracked
		}
		if found, err := w.CommitOf(ctx, v.CommitID); err != nil || found == "" {
			return files, err
		}
		out, err := w.RunGit(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", v.CommitID)
		for _, name := range splitPaths(out) {
			files[name] = true
		}
		return files, err
	}
	trackedBefore, trackedAfter := map[string]bool(nil), map[string]bool(nil)
	var err error
	if partial(after) {
		if trackedBefore, err = tracked(before); err != nil {
			return nil, err
		}
	}
	if partial(before) {
		if trackedAfter, err = tracked(after); err != nil {
			return nil, err
		}
	}
	return func(e edit) bool {
		switch {
		case !e.to.exists():
			return trackedBefore != nil && !trackedBefore[e.path]
		case !e.from.exists():
			return trackedAfter != nil && !trackedAfter[e.path]
		}
		return false
	}, nil
}

// without returns the tree after, in which the edits kept are not made. The new trees are added to c.
func (w *Workspace) without(ctx context.Context, c *CapturedFiles, after objstore.ID, kept []edit) (_ objstore.ID, err error) {
	if err := c.scratch(ctx, w); err != nil {
		return objstore.ID{}, err
	}
	job := &mergeJob{w: w, c: c, env: c.quarantine.GitEnv(objectsDir(w.Repo), w.env)}
	index, err := job.newIndex(ctx, after.String())
	if err != nil {
		return objstore.ID{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(index.dir)) }()
	for _, e := range kept {
		index.set(e.path, treeFile{})
		if e.from.exists() {
			index.set(e.path, e.from)
		}
	}
	return index.tree(ctx)
}
