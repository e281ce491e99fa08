package contents

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Shape is the difference between the texts of one snapshot and the predicted texts. It is a part of the frame's
// row in ext/smithers/frames. The zero Shape means that the texts are exactly as predicted. A Shape stores parts of
// texts as strings, to keep their spelling.
type Shape struct {
	RunID   string               `json:"runId,omitempty"` // the id in output rows and input; "" means the run's own id
	Nodes   listShape            `json:"nodes,omitzero"`
	Outputs map[string]listShape `json:"outputs,omitempty"` // by table
	Loops   listShape            `json:"ralph,omitzero"`
	Keys    []LayoutKey          `json:"keys,omitzero"`       // the members of outputs_json; nil means the layout's keys
	Bare    *bool                `json:"bareInput,omitempty"` // input_json has no runId; nil means as in the layout
	// Texts holds complete texts, by the names "nodes", "outputs", "ralph" and "input". It has only the texts that
	// the other fields cannot restore.
	Texts map[string]string `json:"texts,omitempty"`
}

// IsZero reports whether s is the zero Shape: the texts of the snapshot are exactly as predicted.
func (s *Shape) IsZero() bool {
	return s.RunID == "" && s.Nodes.isZero() && len(s.Outputs) == 0 && s.Loops.isZero() && s.Keys == nil &&
		s.Bare == nil && len(s.Texts) == 0
}

// bareInput reports whether input_json has no runId. If s.Bare is nil, bareInput returns l.BareInput. l is the
// layout of the run.
func (s *Shape) bareInput(l Layout) bool {
	if s.Bare != nil {
		return *s.Bare
	}
	return l.BareInput
}

// listShape is the difference between a list of rows and the predicted list.
type listShape struct {
	Rows  map[string]string `json:"rows,omitempty"`  // the texts of the rows that differ, by key
	Moved map[string]int    `json:"moved,omitempty"` // positions of as few moved rows as possible, by key
}

// isZero reports whether s is the zero listShape: the list is exactly as predicted.
func (s *listShape) isZero() bool { return len(s.Rows) == 0 && len(s.Moved) == 0 }

// apply returns the actual list of rows. predicted has the predicted rows, which apply does not change. Rows in
// s.Rows get their actual text, and rows in s.Moved get their actual position. All rows that are not in s.Moved
// fill the free positions in their predicted order. If the shape belongs to another list, the error is
// ErrShape.
func (s *listShape) apply(predicted []rowText) ([]rowText, error) {
	if s.isZero() {
		return predicted, nil
	}
	places := make(map[int]rowText, len(s.Moved)) // the moved rows, by position in the actual list
	rest := make([]rowText, 0, len(predicted))    // all other rows, which fill the free positions in order
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

// listShapeOf returns the shape with which apply turns the predicted rows into the actual rows. The shape moves as
// few rows as possible. ok is false if the lists do not have the same keys.
func listShapeOf(predicted, actual []rowText) (s listShape, ok bool) {
	if len(predicted) != len(actual) {
		return listShape{}, false
	}
	at := make(map[string]int, len(predicted))
	for i, row := range predicted {
		at[row.key] = i
	}
	// order has the position in predicted of each actual row.
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
	// The rows of a rising part of order fill the positions that no moved row takes, so they need no position.
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

// rising marks the elements of order that belong to a longest increasing subsequence. The rows of these
// elements do not move. The result has one mark for each element. If there are several such subsequences,
// rising chooses the subsequence with the smallest last number, then the smallest number before that number,
// and so on.
func rising(order []int) []bool {
	marked := make([]bool, len(order))
	if slices.IsSorted(order) {
		for i := range marked {
			marked[i] = true
		}
		return marked
	}
	before := make([]int, len(order)) // the index before i in the longest subsequence that ends at i
	var ends []int                    // for each length, the index of the smallest number that ends a subsequence
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

// size returns the approximate size of the stored shape, in bytes. It counts the texts of the rows and the keys of
// the moved rows.
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

// ShapeOf returns the shape with which Write restores the texts c byte for byte. run is the id of the run. w is
// the state of the snapshot. signals maps the numbers of the state's signals to Smithers' numbers. l is the
// layout of the run. If c does not describe a state, the shape has the complete texts.
func ShapeOf(run string, c source.Contents, w snapshot.Whole, signals []SignalSeq, l Layout) Shape {
	r, err := parseContents(c, widest)
	if err != nil {
		return Shape{Texts: map[string]string{"nodes": c.Nodes, "outputs": c.Outputs, "ralph": c.Ralph, "input": c.Input}}
	}
	return r.Shape(run, c, w, signals, l)
}

// Shape returns the result of ShapeOf for c, the texts from which r was parsed. It has the same parameters as
// ShapeOf.
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
	// If the prediction does not restore the input, keep the complete text.
	if string(inputText(run, w.Input, r.bare)) != c.Input {
		s.Bare = nil
		s.keep("input", c.Input)
	}
	return s
}

// keep stores text, a complete text, in s.Texts under name.
func (s *Shape) keep(name, text string) {
	if s.Texts == nil {
		s.Texts = make(map[string]string)
	}
	s.Texts[name] = text
}

// list returns the shape that turns the predicted rows into the actual rows. text is the text of the actual
// rows, and name is the name of this text in s.Texts. If the shape is larger than text or cannot restore text,
// list stores text in s.Texts and returns the zero shape.
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

// shapeOutputs sets s.Outputs and s.Keys so that they restore text, the column outputs_json. r has the parsed
// text. run, w, signals and l are the parameters of ShapeOf. shapeOutputs first tries the members of l, and
// then the members that r has read from text. If neither restores the text, or the complete text is smaller,
// shapeOutputs stores the complete text in s.Texts.
func (s *Shape) shapeOutputs(run, text string, r *Reading, w snapshot.Whole, signals []SignalSeq, l Layout) {
	fits := func() bool { // reports whether the present s restores text
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
