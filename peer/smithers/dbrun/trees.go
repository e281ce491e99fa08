package dbrun

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
)

// Trees has a run's rows of _smithers_frames, which contain the rendered trees. All numbers are Smithers'.
type Trees struct {
	Rows   map[int64]source.Row // by frame_no
	Lonely []int64              // the numbers of the rows without a snapshot, sorted
}

// add adds a row of _smithers_frames to t.Rows. The error is source.ErrDamaged if the row has no valid number.
func (t *Trees) add(row source.Row) error {
	no, ok := dbrow.ColumnNumber(row, "frame_no")
	if !ok {
		return fmt.Errorf("%w: a frame has an invalid number", source.ErrDamaged)
	}
	if t.Rows == nil {
		t.Rows = make(map[int64]source.Row)
	}
	t.Rows[no] = row
	return nil
}

// findLonely adds the numbers of the rows without a snapshot to t.Lonely. heads has the run's snapshots, sorted by
// frame.
func (t *Trees) findLonely(heads []source.Head) {
	for _, no := range slices.Sorted(maps.Keys(t.Rows)) {
		_, captured := slices.BinarySearchFunc(heads, no, func(h source.Head, no int64) int { return cmp.Compare(h.Frame, no) })
		if !captured {
			t.Lonely = append(t.Lonely, no)
		}
	}
}

// Inflate returns Smithers' rendered tree at frame no. before is the tree of the frame before, or "" if that frame
// has no tree. If frame no has no row, Inflate returns before. If the row cannot be read, or is a delta without a
// tree before, Inflate returns "" and an error with the reason.
func (t *Trees) Inflate(before string, no int64) (string, error) {
	row, ok := t.Rows[no]
	if !ok {
		return before, nil
	}
	encoding := dbrow.TextOf(row, "encoding")
	if encoding == source.DeltaFrame && before == "" {
		return "", fmt.Errorf("the delta of frame %d has no previous frame", no)
	}
	tree, err := source.Inflate(before, dbrow.TextOf(row, "xml_json"), encoding)
	if err != nil {
		return "", fmt.Errorf("frame %d cannot be read: %w", no, err)
	}
	return tree, nil
}

// Between returns the tree to which the delta of frame before applies. tree is the tree of frame after, the frame
// with the snapshot before. after is tables.NoNumber if no earlier frame has a snapshot. If rows without a snapshot
// stand between the two frames, the result is the tree of the newest such row, or "" if that row cannot be read.
// Otherwise the result is tree.
func (t *Trees) Between(tree string, after, before int64) string {
	i, _ := slices.BinarySearch(t.Lonely, after)
	for ; i < len(t.Lonely) && t.Lonely[i] < before; i++ {
		tree, _ = t.Inflate(tree, t.Lonely[i])
	}
	return tree
}

// InflateTo returns the rendered tree at frame no. It begins with the last complete tree up to no, and applies all
// later deltas. It returns "" if no row up to no has a tree, or if one of these rows cannot be read.
func (t *Trees) InflateTo(no int64) (tree string) {
	var numbers []int64
	for n := range t.Rows {
		if n <= no {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	first := len(numbers) - 1
	for first > 0 && dbrow.TextOf(t.Rows[numbers[first]], "encoding") == source.DeltaFrame {
		first--
	}
	for _, n := range numbers[max(first, 0):] {
		tree, _ = t.Inflate(tree, n)
	}
	return tree
}
