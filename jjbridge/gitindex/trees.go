package gitindex

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Trees holds the tree objects of an index.
type Trees struct {
	Root    objstore.ID
	Encoded map[objstore.ID][]byte // all trees, or the trees that TreesSince built
	folders map[string]objstore.ID // the known trees by folder path with a final slash; the root's path is ""
}

// Trees returns the trees of x. All entries of x must be at stage 0.
func (x *Index) Trees() Trees { return x.TreesSince(Trees{}, nil) }

// TreesSince returns the trees of x, which differs only in the edited paths from the index with the trees
// before. It builds only the trees above these paths.
func (x *Index) TreesSince(before Trees, edited []string) Trees {
	t := &treeBuilder{before: before.folders, edited: make(map[string]bool)}
	t.Trees = Trees{Encoded: make(map[objstore.ID][]byte), folders: make(map[string]objstore.ID)}
	t.edited[""] = len(edited) > 0
	for _, path := range edited {
		// A folder may have become a file, and a file may have become a folder.
		for at := len(path); at >= 0; at = strings.LastIndexByte(path[:at], '/') {
			t.edited[path[:at]+"/"] = true
		}
	}
	rest := x.Entries
	t.Root = t.build(&rest, "")
	return t.Trees
}

// treeBuilder builds all trees in one walk over an index, whose entries have the order of the trees.
type treeBuilder struct {
	Trees

	before map[string]objstore.ID // Trees.folders of the index before the edits
	edited map[string]bool        // folders whose trees must be built, each with a final slash; the root is ""
}

// build returns the id of the tree of the folder prefix. It removes the entries below prefix, which come
// first in rest, from rest.
func (t *treeBuilder) build(rest *[]Entry, prefix string) objstore.ID {
	if id, known := t.before[prefix]; known && !t.edited[prefix] {
		n, _ := slices.BinarySearchFunc(*rest, prefix, func(e Entry, prefix string) int {
			if strings.HasPrefix(e.Path, prefix) {
				return -1
			}
			return strings.Compare(e.Path, prefix)
		})
		*rest = (*rest)[n:]
		t.folders[prefix] = id
		return id
	}
	var entries []objstore.TreeEntry
	for len(*rest) > 0 {
		e := &(*rest)[0]
		name, ok := strings.CutPrefix(e.Path, prefix)
		if !ok {
			break
		}
		if folder, _, ok := strings.Cut(name, "/"); ok {
			id := t.build(rest, prefix+folder+"/")
			entries = append(entries, objstore.TreeEntry{Name: folder, Mode: objstore.ModeTree, ID: id})
			continue
		}
		entries = append(entries, objstore.TreeEntry{Name: name, Mode: e.Mode, ID: e.ID})
		*rest = (*rest)[1:]
	}
	data := objstore.EncodeTree(entries)
	id := objstore.Hash(objstore.Tree, data)
	t.Encoded[id], t.folders[prefix] = data, id
	return id
}
