package smithers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// rendered is the tree for a draft; nil where it is as before, or unknown.
func (l *runLine) rendered(tree string) []byte {
	if tree == "" || tree == l.ours || tree == export.NoTree && l.ours == "" {
		return nil
	}
	return []byte(tree)
}

// treeRows are a run's rows of _smithers_frames, which have the rendered trees.
type treeRows struct {
	rows   map[int64]source.Row // by frame_no
	lonely []int64              // the numbers of those without a snapshot, sorted
}

// add adds a row.
func (t *treeRows) add(row source.Row) error {
	no, ok := dbrow.ColumnNumber(row, "frame_no")
	if !ok {
		return fmt.Errorf("%w: a frame's number is none", source.ErrDamaged)
	}
	if t.rows == nil {
		t.rows = make(map[int64]source.Row)
	}
	t.rows[no] = row
	return nil
}

// findLonely finds the rows without a snapshot.
func (t *treeRows) findLonely(heads []source.Head) {
	for _, no := range slices.Sorted(maps.Keys(t.rows)) {
		_, captured := slices.BinarySearchFunc(heads, no, func(h source.Head, no int64) int { return cmp.Compare(h.Frame, no) })
		if !captured {
			t.lonely = append(t.lonely, no)
		}
	}
}

// inflate returns the rendered tree that Smithers has at a frame, or "" if there is none. before is the tree of the frame
// before it. An error says why the tree cannot be read.
func (t *treeRows) inflate(before string, no int64) (string, error) {
	row, ok := t.rows[no]
	if !ok {
		return before, nil
	}
	encoding := dbrow.TextOf(row, "encoding")
	if encoding == source.DeltaFrame && before == "" {
		return "", fmt.Errorf("the delta of frame %d has no frame before it", no)
	}
	tree, err := source.Inflate(before, dbrow.TextOf(row, "xml_json"), encoding)
	if err != nil {
		return "", fmt.Errorf("frame %d cannot be read: %w", no, err)
	}
	return tree, nil
}

// between returns the tree that the next frame goes on from: of the newest frame without a snapshot after one frame and
// before another, or else the tree before them.
func (t *treeRows) between(tree string, after, before int64) string {
	i, _ := slices.BinarySearch(t.lonely, after)
	for ; i < len(t.lonely) && t.lonely[i] < before; i++ {
		tree, _ = t.inflate(tree, t.lonely[i])
	}
	return tree
}

// inflateTo returns the rendered tree at a frame from the last whole one before it.
func (t *treeRows) inflateTo(no int64) (tree string) {
	var numbers []int64
	for n := range t.rows {
		if n <= no {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	first := len(numbers) - 1
	for first > 0 && dbrow.TextOf(t.rows[numbers[first]], "encoding") == source.DeltaFrame {
		first--
	}
	for _, n := range numbers[max(first, 0):] {
		tree, _ = t.inflate(tree, n)
	}
	return tree
}
