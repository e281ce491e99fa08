package objstore

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/delta"
)

const (
	// maxNewChain is the largest number of deltas in a chain that a merge or a batch makes or extends.
	maxNewChain = 48
	// maxDeltify is the size in bytes up to which a merge makes deltas of an object.
	maxDeltify = 4 << 20
)

// run stores older versions of objects as deltas of newer versions, so that the latest state can be read without
// deltas. It compares each commit of the set with its first parent: the two commits, their trees, and all files and
// folders with the same path in both trees.
func (d *deltifier) run(ctx context.Context) error {
	d.compared = make(map[[2]int32]bool)
	for o := range int32(len(d.objects)) {
		if d.kindOf(o) != Commit {
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

// deltifier makes deltas of older versions of the objects of a set.
type deltifier struct {
	*mergeSet

	deflate  *deflater
	compared map[[2]int32]bool // the pairs of trees that compare has seen
}

// commitLinks returns the tree and the first parent of a commit. data has the bytes of the commit. If the commit lacks
// one of them, that id is zero.
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

// compareCommit pairs a commit with its first parent, and compares their trees. It does nothing if the set does
// not have the parent, or if the parent is not a commit.
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
	return d.compare(TreeEntry{Mode: ModeTree, ID: oldTree}, TreeEntry{Mode: ModeTree, ID: newTree})
}

// compare pairs two versions of a path and, if both are trees, compares the paths below. If the older version is a
// folder and the newer version is a file, compare pairs each file of the folder with the newer file. So the chunks of a
// value need little space after they become one file. compare does nothing in these cases:
//   - The set lacks one of the objects, or both versions are the same object.
//   - A file became a folder.
//   - compare has seen the two trees before.
func (d *deltifier) compare(from, to TreeEntry) error {
	older, oldOK := d.byID[from.ID]
	newer, newOK := d.byID[to.ID]
	switch {
	case !oldOK || !newOK || older == newer:
		return nil
	case from.Mode != ModeTree && to.Mode != ModeTree:
		return d.pair(older, newer)
	case from.Mode != ModeTree, d.compared[[2]int32{older, newer}]:
		return nil
	}
	d.compared[[2]int32{older, newer}] = true
	if to.Mode != ModeTree {
		return d.compareJoined(older, to)
	}
	if err := d.pair(older, newer); err != nil {
		return err
	}
	return d.compareTrees(older, newer)
}

// compareJoined pairs each file of a folder with newFile, which has replaced the folder. It skips subfolders.
func (d *deltifier) compareJoined(folder int32, newFile TreeEntry) error {
	entries, err := d.entries(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Mode == ModeTree {
			continue
		}
		if err := d.compare(e, newFile); err != nil {
			return err
		}
	}
	return nil
}

// compareTrees compares the entries of two versions of a tree. It compares entries of the same name with each other,
// and all other entries by compareMoved. It skips each entry whose object is in both versions, because this object
// needs no delta.
func (d *deltifier) compareTrees(older, newer int32) error {
	oldEntries, err := d.entries(older)
	if err != nil {
		return err
	}
	newEntries, err := d.entries(newer)
	if err != nil {
		return err
	}
	had := make(map[ID]bool, len(oldEntries))
	for _, e := range oldEntries {
		had[e.ID] = true
	}
	byName := make(map[string]TreeEntry, len(newEntries))
	has := make(map[ID]bool, len(newEntries))
	var fresh []TreeEntry
	for _, e := range newEntries {
		byName[e.Name], has[e.ID] = e, true
		if !had[e.ID] {
			fresh = append(fresh, e)
		}
	}
	var gone []TreeEntry
	for _, e := range oldEntries {
		to, ok := byName[e.Name]
		switch {
		case has[e.ID]:
		case !ok || had[to.ID]:
			gone = append(gone, e)
		default:
			if err := d.compare(e, to); err != nil {
				return err
			}
		}
	}
	return d.compareMoved(gone, fresh)
}

// compareMoved compares the entries that compareTrees could not match by name. oldEntries has those of the older
// tree, newEntries those of the newer tree whose objects are new. For each mode, compareMoved matches from the end:
// the last old entry with the last new entry, then the entries before them. If one new entry of the mode is left,
// compareMoved compares all remaining old entries with this entry. So it finds the next version of a renamed file,
// and of a value's chunks after a chunk before them was added or removed.
func (d *deltifier) compareMoved(oldEntries, newEntries []TreeEntry) error {
	last := make(map[Mode][]TreeEntry)
	for _, e := range newEntries {
		last[e.Mode] = append(last[e.Mode], e)
	}
	for _, e := range slices.Backward(oldEntries) {
		same := last[e.Mode]
		if len(same) == 0 {
			continue
		}
		if err := d.compare(e, same[len(same)-1]); err != nil {
			return err
		}
		if len(same) > 1 {
			last[e.Mode] = same[:len(same)-1]
		}
	}
	return nil
}

// entries returns the entries of a tree. If the object is not a tree, or git would write the tree in another form,
// entries returns nil. The merge then copies the object, and makes no deltas of the objects below it.
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

// pair makes the older object a delta of the newer object if the delta is shorter than the older object's
// present entry. It does nothing in these cases:
//   - The older object is a delta already, or the objects have different kinds.
//   - One of the objects is larger than maxDeltify, or the chain would be longer than maxNewChain.
//   - The delta would make a circle. If a value changes back, one object is both older and newer than the other.
func (d *deltifier) pair(older, newer int32) error {
	o := &d.objects[older]
	if o.base != noBase || o.size > maxDeltify || d.objects[newer].size > maxDeltify {
		return nil
	}
	// Count the deltas from newer down to a full object. If older is one of the bases, a delta would make a
	// circle.
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
