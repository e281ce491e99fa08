package objstore

import (
	"bytes"
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/delta"
)

const (
	// maxNewChain bounds the deltas in a chain that a merge makes or adds to.
	maxNewChain = 48
	// maxDeltify is the size in bytes above which objects are not compared.
	maxDeltify = 4 << 20
)

// deltify makes deltas of older versions of objects. It compares each commit of the set with its
// first parent: the commits, their trees, and all files and folders that have the same path in
// both. The newer version is the base, so that the latest state is read without deltas.
func (m *mergeSet) deltify(ctx context.Context) error {
	d := deltifier{mergeSet: m, compared: make(map[[2]int32]bool)}
	for o := range int32(len(m.objects)) {
		if m.kindOf(o) != Commit {
			continue
		}
		if err := stopped(ctx, "compare versions"); err != nil {
			return err
		}
		if err := d.compareCommit(o); err != nil {
			return err
		}
	}
	return nil
}

type deltifier struct {
	*mergeSet

	deflate  deflater
	compared map[[2]int32]bool // pairs of trees
}

// commitLinks returns the tree and the first parent of a commit. Either is zero if the commit has
// none.
func commitLinks(data []byte) (tree, parent ID) {
	for line := range bytes.Lines(data) {
		name, value, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		id, err := ParseID(value)
		switch {
		case err != nil:
			return tree, parent
		case name == "tree":
			tree = id
		case name == "parent":
			return tree, id
		default:
			return tree, parent
		}
	}
	return tree, parent
}

func (d *deltifier) compareCommit(commit int32) error {
	newer, err := d.read(commit)
	if err != nil {
		return err
	}
	newTree, parentID := commitLinks(newer.data)
	parent, ok := d.byID[parentID]
	if !ok {
		return nil
	}
	older, err := d.read(parent)
	if err != nil {
		return err
	}
	if older.kind != Commit {
		return nil
	}
	if err := d.pair(parent, commit); err != nil {
		return err
	}
	oldTree, _ := commitLinks(older.data)
	return d.compare(oldTree, newTree, ModeTree)
}

// compare pairs two versions of a path and, if they are trees, the paths below.
func (d *deltifier) compare(oldID, newID ID, mode Mode) error {
	older, oldOK := d.byID[oldID]
	newer, newOK := d.byID[newID]
	if !oldOK || !newOK || older == newer {
		return nil
	}
	if mode != ModeTree {
		return d.pair(older, newer)
	}
	if d.compared[[2]int32{older, newer}] {
		return nil
	}
	d.compared[[2]int32{older, newer}] = true
	if err := d.pair(older, newer); err != nil {
		return err
	}
	return d.compareTrees(older, newer)
}

func (d *deltifier) compareTrees(older, newer int32) error {
	oldEntries, err := d.entries(older)
	if err != nil {
		return err
	}
	newEntries, err := d.entries(newer)
	if err != nil {
		return err
	}
	byName := make(map[string]TreeEntry, len(oldEntries))
	for _, e := range oldEntries {
		byName[e.Name] = e
	}
	for _, e := range newEntries {
		old, ok := byName[e.Name]
		if !ok || (old.Mode == ModeTree) != (e.Mode == ModeTree) {
			continue
		}
		if err := d.compare(old.ID, e.ID, e.Mode); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a tree. A tree that is not as git writes trees has none: it is
// stored, but not looked into.
func (d *deltifier) entries(tree int32) ([]TreeEntry, error) {
	o, err := d.read(tree)
	if err != nil || o.kind != Tree {
		return nil, err
	}
	entries, err := DecodeTree(d.objects[tree].id, o.data)
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return entries, nil
}

// pair makes the older object a delta of the newer one, if the delta is shorter than the present
// entry and the chain of deltas stays short. A value that changes back is both older and newer than
// its other version, so pair also makes sure that the chain has no circle.
func (d *deltifier) pair(older, newer int32) error {
	o := &d.objects[older]
	if o.base != noBase || o.size > maxDeltify || d.objects[newer].size > maxDeltify {
		return nil
	}
	depth := int32(1)
	for n := newer; ; n = d.objects[n].base {
		if n == older {
			return nil
		}
		if d.objects[n].base == noBase {
			break
		}
		depth++
	}
	if depth+o.height > maxNewChain || d.kindOf(older) != d.kindOf(newer) {
		return nil
	}
	target, err := d.read(older)
	if err != nil {
		return err
	}
	base, err := d.read(newer)
	if err != nil {
		return err
	}
	script := delta.Make(base.data, target.data)
	if len(script) < delta.MinSize {
		return nil
	}
	stream, err := d.deflate.appendSmallest(nil, script)
	if err != nil {
		return err
	}
	const distance = 2 // approximate bytes of the base's offset
	if int64(len(stream))+distance >= o.length-o.head {
		return nil
	}
	o.base, o.delta, o.deltaSize = newer, stream, int64(len(script))
	d.raise(older)
	return nil
}
