package objstore

import (
	"bytes"
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/delta"
)

const (
	// maxNewChain is the largest number of deltas in a chain that a merge makes or extends.
	maxNewChain = 48
	// maxDeltify is the size in bytes up to which a merge makes deltas of an object.
	maxDeltify = 4 << 20
)

// deltify makes older versions of objects deltas of newer versions, so that the latest state is
// read without deltas. It compares each commit of the set with its first parent: the commits, their
// trees, and all files and folders with the same path in both.
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

// deltifier pairs versions of objects for deltify.
type deltifier struct {
	*mergeSet

	deflate  deflater
	compared map[[2]int32]bool // the pairs of trees that compare has seen
}

// commitLinks returns the tree and the first parent of the commit with the bytes data. Each is zero
// if the commit does not have it.
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

// compareCommit pairs a commit with its first parent, and their trees with each other. It does
// nothing if the set does not have the parent.
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

// compare pairs two versions of a path and, if both are trees, the paths below. It does nothing if
// the set lacks a version or if the versions are equal.
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

// compareTrees compares the entries of two trees that have the same name and are both trees or both
// not.
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

// entries returns the entries of a tree. It returns no entries if git would not write the tree in
// this form; such a tree is copied, but the merge makes no deltas below it.
func (d *deltifier) entries(tree int32) ([]TreeEntry, error) {
	o, err := d.read(tree)
	if err != nil || o.kind != Tree {
		return nil, err
	}
	entries, err := DecodeTree(d.objects[tree].id, o.data)
	if err != nil {
		return nil, nil //nolint:nilerr // A malformed tree has no entries; see the function's comment.
	}
	return entries, nil
}

// pair makes the older object a delta of the newer object if the delta is shorter than the older
// object's present entry. It does nothing if the older object is a delta already, if either object
// is larger than maxDeltify, if the chain would be longer than maxNewChain, or if the kinds differ.
// A value that changes back is both older and newer than its other version, so pair also prevents
// circles.
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
	const distance = 2 // approximate size in bytes of the base's offset in the entry head
	if int64(len(stream))+distance >= o.length-o.head {
		return nil
	}
	o.base, o.delta, o.deltaSize = newer, stream, int64(len(script))
	d.raise(older)
	return nil
}
