package smithers

import (
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/smithersdb"
)

// rendered is the tree for a draft; nil where it is as before, or unknown.
func (r *runPass) rendered(tree string) []byte {
	if tree == "" || tree == r.ours || tree == noTree && r.ours == "" {
		return nil
	}
	return []byte(tree)
}

// inflate gives the rendered tree that Smithers has at a frame, "" for none, and why it cannot be told.
func (r *runPass) inflate(no int64) (string, error) {
	row, ok := r.frameRows[no]
	if !ok {
		return r.tree, nil
	}
	encoding := textOf(row, "encoding")
	if encoding == smithersdb.DeltaFrame && r.tree == "" {
		return "", fmt.Errorf("the delta of frame %d has no frame before it", no)
	}
	tree, err := smithersdb.Inflate(r.tree, textOf(row, "xml_json"), encoding)
	if err != nil {
		return "", fmt.Errorf("frame %d cannot be read: %w", no, err)
	}
	return tree, nil
}

// passOver makes the tree of the newest frame between two that has no snapshot the one that what
// follows goes on from.
func (r *runPass) passOver(after, before int64) {
	i, _ := slices.BinarySearch(r.lonely, after)
	for ; i < len(r.lonely) && r.lonely[i] < before; i++ {
		r.tree, _ = r.inflate(r.lonely[i])
	}
}

// inflateTo is the rendered tree at a frame that is stored, from the last one before it that is whole.
func (r *runPass) inflateTo(no int64) string {
	var rows []int64
	for n := range r.frameRows {
		if n <= no {
			rows = append(rows, n)
		}
	}
	slices.Sort(rows)
	first := len(rows) - 1
	for first > 0 && textOf(r.frameRows[rows[first]], "encoding") == smithersdb.DeltaFrame {
		first--
	}
	r.tree = ""
	for _, n := range rows[max(first, 0):] {
		r.tree, _ = r.inflate(n)
	}
	return r.tree
}
