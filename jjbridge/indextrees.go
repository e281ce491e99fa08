package jjbridge

import (
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// indexTrees are the trees that an index stands for.
type indexTrees struct {
	root    objstore.ID
	encoded map[objstore.ID][]byte // every tree
}

// trees computes the tree objects of an index at stage 0. An index is sorted just as
// the trees are, so that one walk does it.
func (x *index) trees() indexTrees {
	t := &indexTrees{encoded: make(map[objstore.ID][]byte)}
	rest := x.entries
	t.root = t.build(&rest, "")
	return *t
}

// build makes the tree of the entries in front of rest whose path begins with prefix.
func (t *indexTrees) build(rest *[]indexEntry, prefix string) objstore.ID {
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
	t.encoded[id] = data
	return id
}
