package jjbridge

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// ChangedPaths returns the paths that differ between two trees of the repository.
func (w *Workspace) ChangedPaths(ctx context.Context, from, to objstore.ID) ([]string, error) {
	out, err := w.RunGit(ctx, diffTreeArgs(from.String(), to.String())...)
	if err != nil {
		return nil, err
	}
	edits, err := parseEdits(out)
	paths := make([]string, len(edits))
	for i, e := range edits {
		paths[i] = e.path
	}
	return paths, err
}

// TakePaths returns the captured tree, in which the given paths are as in the tree from. Other paths stay. The new trees
// are added to c. If a captured file that is not among paths is in the way, the error is a *RefusedError.
func (w *Workspace) TakePaths(ctx context.Context, c *CapturedFiles, from objstore.ID, paths []string) (_ objstore.ID, err error) {
	objects, err := c.directory(ctx, w)
	if err != nil {
		return objstore.ID{}, err
	}
	plan := &Plan{From: c.VCS.Tree, To: from, objects: objects, repository: c.repository}
	edits, err := plan.compare(ctx, w)
	if err != nil {
		return objstore.ID{}, err
	}
	wanted := make(map[string]bool, len(paths))
	for _, path := range paths {
		wanted[path] = true
	}
	edits = slices.DeleteFunc(edits, func(e edit) bool { return !wanted[e.path] })
	if len(edits) == 0 {
		return c.VCS.Tree, nil
	}
	if err := c.scratch(ctx, w); err != nil {
		return objstore.ID{}, err
	}
	job := &mergeJob{w: w, c: c, env: c.quarantine.GitEnv(objectsDir(w.Repo), w.env)}
	index, err := job.newIndex(ctx, c.VCS.Tree.String())
	if err != nil {
		return objstore.ID{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(index.dir)) }()
	if err := index.refuseCollisions(ctx, edits); err != nil {
		return objstore.ID{}, err
	}
	for _, e := range edits { // first the removals, because a folder can take the place of a removed file
		index.set(e.path, treeFile{})
	}
	for _, e := range edits {
		if e.to.exists() {
			index.set(e.path, e.to)
		}
	}
	return index.tree(ctx)
}

// refuseCollisions returns a *RefusedError if an edit adds a file where the index has a folder, or a file in the place
// of the folder. Files that the edits remove are not in the way.
func (x *mergingIndex) refuseCollisions(ctx context.Context, edits []edit) error {
	if !slices.ContainsFunc(edits, func(e edit) bool { return !e.from.exists() }) {
		return nil
	}
	files, err := x.files(ctx)
	if err != nil {
		return err
	}
	for _, e := range edits {
		delete(files, e.path)
	}
	folders := make(map[string]string) // by folder: one of its files
	for path := range files {
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
			folders[path[:at]] = path
		}
	}
	var refused []Refusal
	for _, e := range edits {
		if !e.to.exists() {
			continue
		}
		if path := folders[e.path]; path != "" {
			refused = append(refused, Refusal{path, "it is where the file " + e.path + " comes back"})
		}
		for at := strings.LastIndexByte(e.path, '/'); at > 0; at = strings.LastIndexByte(e.path[:at], '/') {
			if _, ok := files[e.path[:at]]; ok {
				refused = append(refused, Refusal{e.path[:at], "it is where the file " + e.path + " comes back"})
			}
		}
	}
	if len(refused) > 0 {
		return &RefusedError{Refused: refused}
	}
	return nil
}
