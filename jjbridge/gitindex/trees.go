package gitindex

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// Trees are the tree objects of an index.
type Trees struct {
	Root    objstore.ID
	Encoded map[objstore.ID][]byte // all trees; of TreesSince, those that were built
	folders map[string]objstore.ID // the trees that the walk met, by path, with a slash at its end
}

// Trees builds the trees of an index whose entries are at stage 0.
func (x *Index) Trees() Trees { return x.TreesSince(Trees{}, nil) }

// TreesSince is Trees for an index that differs from the index of before only in the edited paths. It
// builds only the trees above these paths.
func (x *Index) TreesSince(before Trees, edited []string) Trees {
	t := &treeBuilder{before: before.folders, edited: make(map[string]bool)}
	t.Trees = Trees{Encoded: make(map[objstore.ID][]byte), folders: make(map[string]objstore.ID)}
	t.edited[""] = len(edited) > 0
	for _, path := range edited {
		// What was a folder may be a file now, and the reverse.
		for at := len(path); at >= 0; at = strings.LastIndexByte(path[:at], '/') {
			t.edited[path[:at]+"/"] = true
		}
	}
	rest := x.Entries
	t.Root = t.build(&rest, "")
	return t.Trees
}

// treeBuilder builds trees in one walk, because an index is sorted as its trees are.
type treeBuilder struct {
	Trees

	before map[string]objstore.ID
	edited map[string]bool // folders, with a slash at their end
}

// build builds the tree of those first entries of rest whose paths begin with prefix, and removes them from rest.
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
