package jjbridge

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// parents are the trees of the parents of a jj commit. jj tracks the files in these trees independently of the working copy.
type parents struct {
	objects objstore.Reader
	trees   []objstore.ID
	read    map[objstore.ID][]objstore.TreeEntry // the entries of the trees that has reads
}

// conflictFolder is the start of the names of folders in the tree of a jj commit with conflicts. Each such folder has one
// side of the conflicts.
const conflictFolder = ".jjconflict-"

// newParents returns the trees of the parents of commit. For a parent with conflicts, each side counts.
func newParents(objects objstore.Reader, commit string) (*parents, error) {
	_, ids, err := ReadCommit(objects, commit)
	if err != nil {
		return nil, err
	}
	p := &parents{objects: objects, read: make(map[objstore.ID][]objstore.TreeEntry)}
	for _, id := range ids {
		tree, _, err := ReadCommit(objects, id)
		if err != nil {
			return nil, err
		}
		p.trees = append(p.trees, tree)
		entries, err := p.entries(tree)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Mode == objstore.ModeTree && strings.HasPrefix(e.Name, conflictFolder) {
				p.trees = append(p.trees, e.ID)
			}
		}
	}
	return p, nil
}

// has reports whether a parent has an entry at path.
func (p *parents) has(path string) (bool, error) {
	for _, tree := range p.trees {
		found, err := p.treeHas(tree, path)
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// treeHas reports whether tree has an entry at path.
func (p *parents) treeHas(tree objstore.ID, path string) (bool, error) {
	name, rest, inner := strings.Cut(path, "/")
	entries, err := p.entries(tree)
	if err != nil {
		return false, err
	}
	e, found := objstore.FindEntry(entries, name)
	if !found || !inner || e.Mode != objstore.ModeTree {
		return found && !inner, nil
	}
	return p.treeHas(e.ID, rest)
}

// entries returns the entries of tree, which it reads once.
func (p *parents) entries(tree objstore.ID) ([]objstore.TreeEntry, error) {
	if known, ok := p.read[tree]; ok {
		return known, nil
	}
	entries, err := objstore.ReadTree(p.objects, tree)
	if err == nil {
		p.read[tree] = entries
	}
	return entries, err
}

// commitFilter removes files from the tree of a jj commit: changed files of more than limit bytes, new files for which leaves
// returns true, new files with secrets, and new files and folders with names that git refuses.
type commitFilter struct {
	ctx     context.Context //nolint:containedctx // of one walk
	w       *Workspace
	objects objstore.Reader
	limit   int64
	leaves  func(path string) (as string, ok bool)
	left    *leftOuts
	secrets *secretFiles
	made    [][]byte // the encoded new trees
}

// searched returns the tree that the last capture has searched by the rules of this capture, or zero if there is none.
func (f *commitFilter) searched() objstore.ID {
	if !f.secrets.searched() || f.secrets.last.Tree.IsZero() || !has(f.objects, f.secrets.last.Tree) {
		return objstore.ID{}
	}
	return f.secrets.last.Tree
}

// tree filters the tree with the given id and returns the id of the filtered tree. It adds each new tree to f.made.
// before has the ids of the parents' trees at the same path, and searched is the tree at this path that was searched, or
// zero. prefix is this path with a final slash, or "" for the root. tree does not read a subtree that a parent has
// unchanged.
func (f *commitFilter) tree(id objstore.ID, before []objstore.ID, searched objstore.ID, prefix string) (objstore.ID, error) {
	if err := f.ctx.Err(); err != nil {
		return objstore.ID{}, err
	}
	entries, err := objstore.ReadTree(f.objects, id)
	if err != nil {
		return objstore.ID{}, err
	}
	at := siblings{parents: make([][]objstore.TreeEntry, len(before))}
	for i, other := range before {
		if at.parents[i], err = objstore.ReadTree(f.objects, other); err != nil {
			return objstore.ID{}, err
		}
	}
	if !searched.IsZero() {
		at.searched = entries
		if searched != id {
			if at.searched, err = objstore.ReadTree(f.objects, searched); err != nil {
				return objstore.ID{}, err
			}
		}
	}
	kept := make([]objstore.TreeEntry, 0, len(entries))
	for _, e := range entries {
		e, keep, err := f.entry(e, at, prefix+e.Name)
		if err != nil {
			return objstore.ID{}, err
		}
		if keep {
			kept = append(kept, e)
		}
	}
	data := objstore.EncodeTree(kept)
	filtered := id.Algorithm().ID(objstore.Tree, data)
	if filtered != id {
		f.made = append(f.made, data)
	}
	return filtered, nil
}

// siblings are the entries of other trees at the path of a tree.
type siblings struct {
	parents  [][]objstore.TreeEntry // of the parents' trees
	searched []objstore.TreeEntry   // of the tree that was searched
}

// isNew reports whether no parent has an entry with the given name.
func (s siblings) isNew(name string) bool {
	return !slices.ContainsFunc(s.parents, func(entries []objstore.TreeEntry) bool {
		_, ok := objstore.FindEntry(entries, name)
		return ok
	})
}

// entry filters e, the entry of a tree at path. It returns the filtered entry, and reports whether the entry stays. at has
// the entries of other trees beside e. If a parent has the same entry, the entry stays. An entry for an empty subtree is
// removed.
func (f *commitFilter) entry(e objstore.TreeEntry, at siblings, path string) (objstore.TreeEntry, bool, error) {
	var before []objstore.ID
	for _, entries := range at.parents {
		switch other, ok := objstore.FindEntry(entries, e.Name); {
		case ok && other == e:
			return e, true, nil
		case ok && other.Mode == objstore.ModeTree:
			before = append(before, other.ID)
		}
	}
	was, _ := objstore.FindEntry(at.searched, e.Name)
	if refusedName(e.Name, e.Mode) {
		if e.Mode == objstore.ModeTree {
			path += "/"
		}
		f.left.add(path, snapshot.LeftUnreadable, 0)
		return e, false, nil
	}
	switch e.Mode {
	case objstore.ModeTree:
		var searched objstore.ID
		if was.Mode == objstore.ModeTree {
			searched = was.ID
		}
		id, err := f.tree(e.ID, before, searched, path+"/")
		e.ID = id
		return e, !id.IsEmptyTree(), err
	case objstore.ModeFile, objstore.ModeExecutable:
		isNew := at.isNew(e.Name)
		if as, ok := f.leaves(path); ok && isNew {
			f.left.add(as, snapshot.LeftUntracked, 0)
			return e, false, nil
		}
		if info, err := lstat(f.w.full(path)); err == nil && info.Mode().IsRegular() && info.Size() > f.limit {
			f.left.add(path, snapshot.LeftTooLarge, info.Size())
			return e, false, nil
		}
		out, err := f.hasSecret(e, was == e, path, !isNew)
		if out {
			f.left.add(path, snapshot.LeftSecret, 0)
		}
		return e, !out, err
	default:
	}
	return e, true, nil
}

// hasSecret reports whether the capture leaves out e, the file at path, because of a secret. searched is true if the last
// capture has searched the same file by the same rules. tracked is true if a parent has a file at path.
func (f *commitFilter) hasSecret(e objstore.TreeEntry, searched bool, path string, tracked bool) (out bool, err error) {
	s := f.secrets
	if s.search == nil {
		return false, nil
	}
	rule, _, found := s.known(path)
	switch {
	case s.isNamed(path):
		s.add(path, "", !tracked)
		return !tracked, nil
	case searched && found:
		s.add(path, rule, !tracked)
		return !tracked, nil
	case searched:
		return false, nil
	}
	content, err := objstore.GetBlob(f.objects, e.ID, maxSearched)
	if errors.Is(err, objstore.ErrCorrupt) {
		return false, nil // too large, or damaged, which no capture looks for
	}
	return s.look(path, content, tracked), err
}
