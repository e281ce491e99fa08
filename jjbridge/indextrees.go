package jjbridge

import (
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// indexTrees are the trees that an index stands for.
type indexTrees struct {
	root    objstore.ID
	encoded map[objstore.ID][]byte // every tree, or those that are not as before
	folders map[string]objstore.ID // those that were looked at, by path, with a slash at its end
}

// trees computes the tree objects of an index at stage 0.
func (x *index) trees() indexTrees { return x.treesSince(indexTrees{}, nil) }

// treesSince is trees where those of before are known, and only the files in edited
// differ. It encodes no others than the trees above these.
func (x *index) treesSince(before indexTrees, edited []string) indexTrees {
	t := &treeBuilder{before: before.folders, edited: make(map[string]bool)}
	t.indexTrees = indexTrees{encoded: make(map[objstore.ID][]byte), folders: make(map[string]objstore.ID)}
	t.edited[""] = len(edited) > 0
	for _, path := range edited {
		// What was a folder may be a file now, and the reverse.
		for at := len(path); at >= 0; at = strings.LastIndexByte(path[:at], '/') {
			t.edited[path[:at]+"/"] = true
		}
	}
	rest := x.entries
	t.root = t.build(&rest, "")
	return t.indexTrees
}

// treeBuilder builds trees. An index is sorted just as the trees are, so that one walk
// does it.
type treeBuilder struct {
	indexTrees

	before map[string]objstore.ID
	edited map[string]bool // folders, with a slash at their end
}

// build makes the tree of the entries in front of rest whose path begins with prefix.
func (t *treeBuilder) build(rest *[]indexEntry, prefix string) objstore.ID {
	if id, known := t.before[prefix]; known && !t.edited[prefix] {
		n, _ := slices.BinarySearchFunc(*rest, prefix, func(e indexEntry, prefix string) int {
			if strings.HasPrefix(e.path, prefix) {
				return -1
			}
			return strings.Compare(e.path, prefix)
		})
		*rest = (*rest)[n:]
		t.folders[prefix] = id
		return id
	}
	var entries []objstore.TreeEntry
	for len(*rest) > 0 {
		e := &(*rest)[0]
		name, ok := strings.CutPrefix(e.path, prefix)
		if !ok {
			break
		}
		if folder, _, ok := strings.Cut(name, "/"); ok {
			id := t.build(rest, prefix+folder+"/")
			entries = append(entries, objstore.TreeEntry{Name: folder, Mode: objstore.ModeTree, ID: id})
			continue
		}
		entries = append(entries, objstore.TreeEntry{Name: name, Mode: e.mode, ID: e.id})
		*rest = (*rest)[1:]
	}
	data := objstore.EncodeTree(entries)
	id := objstore.Hash(objstore.Tree, data)
	t.encoded[id], t.folders[prefix] = data, id
	return id
}
