package jjbridge

import (
	"context"
	"errors"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// FileState is a file in a tree. The zero FileState means that the tree has no such file.
type FileState struct {
	Mode objstore.Mode
	ID   objstore.ID
}

// FileEdit is the change of one file between two trees.
type FileEdit struct {
	Path     string
	Was, Now FileState
}

// Op returns what the edit does to its path: OpAdd, OpModify or OpRemove.
func (e FileEdit) Op() string {
	return edit{from: treeFile{e.Was.Mode, e.Was.ID}, to: treeFile{e.Now.Mode, e.Now.ID}}.change().Op
}

// FileEdits returns the changes that turn the files of the tree from into those of the tree to, sorted by path. A zero id is an empty
// tree. The changes are those at the path under, a file or a folder, and below; "" means all. FileEdits reads no folder that is equal in
// both trees. If there are too many changes, the error wraps objstore.ErrTreeSize.
func FileEdits(ctx context.Context, trees objstore.Reader, from, to objstore.ID, under string) ([]FileEdit, error) {
	if from == to {
		return nil, nil
	}
	was, err := entryAt(trees, from, under)
	if err != nil {
		return nil, err
	}
	now, err := entryAt(trees, to, under)
	if err != nil {
		return nil, err
	}
	wasTree, _ := splitEntry(was)
	nowTree, _ := splitEntry(now)
	if err := objstore.CheckChanges(ctx, trees, wasTree, nowTree); err != nil {
		return nil, err
	}
	edits, err := compareAt(trees, under, was, now)
	out := make([]FileEdit, len(edits))
	for i, e := range edits {
		out[i] = FileEdit{Path: e.path, Was: FileState{e.from.mode, e.from.id}, Now: FileState{e.to.mode, e.to.id}}
	}
	return out, err
}

// FileAt returns what a tree has at a path: a file, a folder or nothing.
func FileAt(trees objstore.Reader, tree objstore.ID, path string) (FileState, error) {
	e, err := entryAt(trees, tree, path)
	return FileState{e.Mode, e.ID}, err
}

// entryAt returns the entry that a tree has at a path, or the zero entry. The path "" is the tree itself.
func entryAt(trees objstore.Reader, tree objstore.ID, path string) (objstore.TreeEntry, error) {
	at := objstore.TreeEntry{Mode: objstore.ModeTree, ID: tree}
	if path == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.Mode != objstore.ModeTree || at.ID.IsZero() {
			return objstore.TreeEntry{}, nil
		}
		entries, err := objstore.ReadForeignTree(trees, at.ID)
		if err != nil {
			return objstore.TreeEntry{}, err
		}
		at, _ = objstore.FindEntry(entries, name)
	}
	return at, nil
}

// FileAt returns what the captured tree has at a path: a file, a folder or nothing.
func (c *CapturedFiles) FileAt(ctx context.Context, w *Workspace, path string) (at FileState, err error) {
	err = c.withTree(ctx, w, func(trees objstore.Reader) (err error) {
		at, err = FileAt(trees, c.VCS.Tree, path)
		return err
	})
	return at, err
}

// withTree calls f with a reader of the captured tree.
func (c *CapturedFiles) withTree(ctx context.Context, w *Workspace, f func(objstore.Reader) error) error {
	objects, err := c.directory(ctx, w)
	if err != nil {
		return err
	}
	return (&Plan{objects: objects, repository: c.repository}).withTrees(w, f)
}

// ApplyEdits makes the changes in the working copy, as a restore makes them, and reports whether they fit. They fit if the captured
// files are, at each path, as the edit expects or as it makes them, and nothing else is in the way. If they do not fit, no file is changed. The repository
// must have the objects of the edits. c is a new capture of the working copy and is not closed yet. The errors are those of Restore.
func (w *Workspace) ApplyEdits(ctx context.Context, c *CapturedFiles, edits []FileEdit) (fits bool, err error) {
	builder := &treeBuilder{made: make(map[objstore.ID][]byte)}
	var target objstore.ID
	err = c.withTree(ctx, w, func(trees objstore.Reader) (err error) {
		files := make(map[string]treeFile, len(edits))
		for _, e := range edits {
			now, err := FileAt(trees, c.VCS.Tree, e.Path)
			if err != nil || now != e.Was && now != e.Now {
				return err
			}
			files[e.Path] = treeFile{e.Now.Mode, e.Now.ID}
		}
		fits = true
		builder.objects = trees
		target, err = builder.edited(c.VCS.Tree, treeEdits{files: files})
		return err
	})
	if err != nil || !fits {
		return false, err
	}
	for _, tree := range builder.made {
		c.AddTree(tree)
	}
	plan, err := w.Plan(ctx, c, target)
	if err != nil || len(plan.Refused) > 0 {
		return false, err
	}
	if err := w.Restore(ctx, plan); err != nil {
		if _, refused := errors.AsType[*RefusedError](err); refused {
			return false, nil
		}
		return false, err
	}
	return true, nil
}
