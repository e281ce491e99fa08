package contents

import (
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Shape is how the texts of one snapshot differ from the predicted ones: part of its row in ext/smithers/frames. The zero
// Shape is for texts that are exactly as predicted. Texts of the snapshot are strings in it, so that they stay as they are
// spelled.
type Shape struct {
	RunID   string               `json:"runId,omitempty"` // in the rows of outputs and input, where it is not the run's own
	Nodes   listShape            `json:"nodes,omitzero"`
	Outputs map[string]listShape `json:"outputs,omitempty"` // by table
	Loops   listShape            `json:"ralph,omitzero"`
	Keys    []LayoutKey          `json:"keys,omitzero"` // in place of the layout's
	Bare    *bool                `json:"bareInput,omitempty"`
	// Texts are whole texts, of "nodes", "outputs", "ralph" and "input", if all this does not give them.
	Texts map[string]string `json:"texts,omitempty"`
}

// IsZero reports whether the snapshot is exactly as predicted.
func (s *Shape) IsZero() bool {
	return s.RunID == "" && s.Nodes.isZero() && len(s.Outputs) == 0 && s.Loops.isZero() && s.Keys == nil &&
		s.Bare == nil && len(s.Texts) == 0
}

func (s *Shape) bareInput(l Layout) bool {
	if s.Bare != nil {
		return *s.Bare
	}
	return l.BareInput
}

// listShape is how a list of rows differs from the predicted list.
type listShape struct {
	Rows  map[string]string `json:"rows,omitempty"`  // those with another text
	Moved map[string]int    `json:"moved,omitempty"` // the places of the fewest rows without which the others are in order
}

func (s *listShape) isZero() bool { return len(s.Rows) == 0 && len(s.Moved) == 0 }

// apply makes the list of the predicted one.
func (s *listShape) apply(predicted []rowText) ([]rowText, error) {
	if s.isZero() {
		return predicted, nil
	}
	places := make(map[int]rowText, len(s.Moved))
	rest := make([]rowText, 0, len(predicted))
	found := 0
	for _, row := range predicted {
		if text, ok := s.Rows[row.key]; ok {
			found++
			row.head, row.text = nil, []byte(text)
		}
		if at, ok := s.Moved[row.key]; ok {
			places[at] = row
		} else {
			rest = append(rest, row)
		}
	}
	if found != len(s.Rows) || len(places) != len(s.Moved) {
		return nil, ErrShape
	}
	rows := make([]rowText, 0, len(predicted))
	for i := range predicted {
		row, ok := places[i]
		if !ok {
			if len(rest) == 0 {
				return nil, ErrShape
			}
			row, rest = rest[0], rest[1:]
		}
		rows = append(rows, row)
	}
	if len(rest) > 0 {
		return nil, ErrShape
	}
	return rows, nil
}

// listShapeOf is what leads from the predicted rows to the actual ones; ok is false where
// they are not the same rows.
func listShapeOf(predicted, actual []rowText) (s listShape, ok bool) {
	if len(predicted) != len(actual) {
		return listShape{}, false
	}
	at := make(map[string]int, len(predicted))
	for i, row := range predicted {
		at[row.key] = i
	}
	order := make([]int, len(actual))
	for i, row := range actual {
		from, ok := at[row.key]
		if !ok {
			return listShape{}, false
		}
		order[i] = from
		if !predicted[from].is(row.text) {
			if s.Rows == nil {
				s.Rows = make(map[string]string)
			}
			s.Rows[row.key] = string(row.text)
		}
	}
	for i, stays := range rising(order) {
		if stays {
			continue
		}
		if s.Moved == nil {
			s.Moved = make(map[string]int)
		}
		s.Moved[actual[i].key] = i
	}
	return s, true
}

// rising marks a longest subsequence that rises: of several the one whose last number is least, and
// so on from there.
func rising(order []int) []bool {
	marked := make([]bool, len(order))
	if slices.IsSorted(order) {
		for i := range marked {
			marked[i] = true
		}
		return marked
	}
	before := make([]int, len(order)) // the place of the number before in the longest one that ends here
	var ends []int                    // the places of the least numbers that end one of each length
	for i, n := range order {
		length, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int { return order[end] - n })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		marked[i] = true
	}
	return marked
}

// size is about how much it takes to store.
func (s *listShape) size() int {
	size := 0
	for _, text := range s.Rows {
		size += len(text)
	}
	for key := range s.Moved {
		size += len(key)
	}
	return size
}

// ShapeOf returns the shape with which Write gives c back, byte for byte, for every c that Read takes. w is the state that
// Read made of it, with the signals of the state.
func ShapeOf(run string, c source.Contents, w snapshot.Whole, signals []SignalSeq, l Layout) Shape {
	r, err := parseContents(c, widest)
	if err != nil {
		return Shape{Texts: map[string]string{"nodes": c.Nodes, "outputs": c.Outputs, "ralph": c.Ralph, "input": c.Input}}
	}
	return r.Shape(run, c, w, signals, l)
}

// Shape is ShapeOf for texts that were read.
func (r *Reading) Shape(run string, c source.Contents, w snapshot.Whole, signals []SignalSeq, l Layout) Shape {
	var s Shape
	if r.run != "" && r.run != run {
		s.RunID, run = r.run, r.run
	}
	s.Nodes = s.list("nodes", c.Nodes, nodeRows(w.Nodes), r.nodes)
	s.Loops = s.list("ralph", c.Ralph, loopRows(w.Loops), r.loops)
	s.shapeOutputs(run, c.Outputs, r, w, signals, l)
	if r.bare != l.BareInput {
		s.Bare = &r.bare
	}
	if string(inputText(run, w.Input, r.bare)) != c.Input {
		s.Bare = nil
		s.keep("input", c.Input)
	}
	return s
}

// keep takes a text as a whole.
func (s *Shape) keep(name, text string) {
	if s.Texts == nil {
		s.Texts = make(map[string]string)
	}
	s.Texts[name] = text
}

// list is the shape of a text that is a list, unless the text itself is kept.
func (s *Shape) list(name, text string, predicted, actual []rowText) listShape {
	of, ok := listShapeOf(predicted, actual)
	if ok && of.size() <= len(text) {
		if rows, err := of.apply(predicted); err == nil && consistsOf(text, arrayPieces(rows)) {
			return of
		}
	}
	s.keep(name, text)
	return listShape{}
}

// shapeOutputs finds the shape of outputs_json: with the members that the layout has, or else with its own.
func (s *Shape) shapeOutputs(run, text string, r *Reading, w snapshot.Whole, signals []SignalSeq, l Layout) {
	fits := func() bool {
		pieces, _, err := s.outputPieces(run, w.Outputs, signals, l)
		return err == nil && consistsOf(text, pieces)
	}
	size := 0
	predicted := outputRows(run, w.Outputs)
	for table, rows := range r.tables {
		if of, ok := listShapeOf(predicted[table], rows); ok && !of.isZero() {
			if s.Outputs == nil {
				s.Outputs = make(map[string]listShape)
			}
			s.Outputs[table] = of
			size += of.size()
		}
	}
	if size <= len(text) {
		if fits() {
			return
		}
		if s.Keys = r.keys; fits() {
			return
		}
	}
	s.Keys, s.Outputs = nil, nil
	s.keep("outputs", text)
}
