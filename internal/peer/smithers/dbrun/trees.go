package dbrun

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// Trees has a run's rows of _smithers_frames, which contain the rendered trees. All frame numbers are Smithers'
// numbers.
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

// Inflate returns the rendered tree of the frame with the number frame. before is the tree of the previous frame,
// or "" if the previous frame has no tree. If t has no row for the frame, Inflate returns before. If the row
// cannot be read, Inflate returns "" and an error with the reason. A row that is a delta cannot be read if before
// is "".
func (t *Trees) Inflate(before string, frame int64) (string, error) {
	row, ok := t.Rows[frame]
	if !ok {
		return before, nil
	}
	encoding := dbrow.TextOf(row, "encoding")
	if encoding == source.DeltaFrame && before == "" {
		return "", fmt.Errorf("the delta of frame %d has no previous frame", frame)
	}
	tree, err := source.Inflate(before, dbrow.TextOf(row, "xml_json"), encoding)
	if err != nil {
		return "", fmt.Errorf("frame %d cannot be read: %w", frame, err)
	}
	return tree, nil
}

// Between returns the rendered tree to which a delta of a frame applies. to is the number of the frame. from is
// the number of the newest earlier frame that has a snapshot, or tables.NoNumber if there is no such frame.
// tree is the tree of this earlier frame.
//
// If t has rows without a snapshot between the two frames, the result is the tree of the newest of these rows,
// or "" if this row cannot be read. Otherwise the result is tree.
func (t *Trees) Between(tree string, from, to int64) string {
	i, _ := slices.BinarySearch(t.Lonely, from)
	for ; i < len(t.Lonely) && t.Lonely[i] < to; i++ {
		tree, _ = t.Inflate(tree, t.Lonely[i])
	}
	return tree
}

// InflateTo returns the rendered tree at the frame with the number frame. It begins with the newest complete tree
// up to this frame and applies the deltas that follow. A frame without a row has the tree of the previous frame.
// InflateTo returns "" if t has no complete tree up to the frame, or if one of the used rows cannot be read.
func (t *Trees) InflateTo(frame int64) (tree string) {
	var numbers []int64
	for n := range t.Rows {
		if n <= frame {
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
