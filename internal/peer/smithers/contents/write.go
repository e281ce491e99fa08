package contents

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// SignalSeq maps the number of a signal in the state to Smithers' number.
type SignalSeq struct {
	Seq  int64 // the number in the state
	Peer int64 // Smithers' number
}

// Write returns the four texts of a snapshot. It is the inverse of Read. run is the id of the run. w is the state.
// signals has Smithers' numbers of the state's signals. l is the layout of the run, and s is the shape of the
// snapshot. With a zero shape, the rows are in Smithers' order: nodes by id and iteration, output rows by
// provenance. If s belongs to another state, the error is ErrShape.
func Write(run string, w snapshot.Whole, signals []SignalSeq, l Layout, s Shape) (source.Contents, error) {
	if s.RunID != "" {
		run = s.RunID
	}
	var c source.Contents
	var err [4]error
	c.Nodes, err[0] = s.text("nodes", func() ([]byte, error) { return s.Nodes.array(nodeRows(w.Nodes)) })
	c.Outputs, err[1] = s.text("outputs", func() ([]byte, error) { return s.outputs(run, w.Outputs, signals, l) })
	c.Ralph, err[2] = s.text("ralph", func() ([]byte, error) { return s.Loops.array(loopRows(w.Loops)) })
	c.Input, err[3] = s.text("input", func() ([]byte, error) { return inputText(run, w.Input, s.bareInput(l)), nil })
	return c, cmp.Or(err[:]...)
}

// text returns one of the four texts. name is the name of the text in s.Texts. If s.Texts has the text, text
// returns the stored text. Otherwise text returns the results of write.
func (s *Shape) text(name string, write func() ([]byte, error)) (string, error) {
	if text, ok := s.Texts[name]; ok {
		return text, nil
	}
	text, err := write()
	return string(text), err
}

// ErrShape means that a shape belongs to another state.
var ErrShape = errors.New("ext/smithers: the stored form of a snapshot's texts belongs to another snapshot")

// array applies the shape to rows, the predicted rows, and returns the actual rows as a JSON array. If the
// shape belongs to other rows, the error is ErrShape.
func (s *listShape) array(rows []rowText) ([]byte, error) {
	rows, err := s.apply(rows)
	if err != nil {
		return nil, err
	}
	return joinedPieces(arrayPieces(rows), sizeOf(rows)), nil
}

// arrayPieces yields the text of the JSON array of rows in pieces, with both brackets. The pieces share memory
// with the rows.
func arrayPieces(rows []rowText) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		before := []byte("[")
		for _, row := range rows {
			if !yield(before) || !yield(row.head) || !yield(row.text) {
				return
			}
			before = []byte(",")
		}
		if len(rows) == 0 && !yield(before) {
			return
		}
		yield([]byte("]"))
	}
}

// joinedPieces returns the pieces as one text. size is the approximate length of the text in bytes, for the first
// allocation.
func joinedPieces(pieces iter.Seq[[]byte], size int) []byte {
	b := make([]byte, 0, size)
	for piece := range pieces {
		b = append(b, piece...)
	}
	return b
}

// consistsOf reports whether a text equals the joined pieces. It compares without joining the pieces.
func consistsOf(text string, pieces iter.Seq[[]byte]) bool {
	for piece := range pieces {
		if len(piece) > len(text) || text[:len(piece)] != string(piece) {
			return false
		}
		text = text[len(piece):]
	}
	return text == ""
}

// sizeOf returns the length in bytes of the JSON array of rows. If there are rows, the result is one byte too
// large.
func sizeOf(rows []rowText) int {
	size := len("[]") + len(rows)
	for _, row := range rows {
		size += len(row.head) + len(row.text)
	}
	return size
}

// nodeRows returns the rows of nodes as Smithers writes them, sorted by id and iteration.
func nodeRows(nodes []snapshot.Node) []rowText {
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b snapshot.Node) int {
		return cmp.Or(strings.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration))
	})
	rows := make([]rowText, 0, len(nodes))
	for _, n := range nodes {
		b := page.AppendString([]byte(`{"nodeId":`), n.NodeID)
		b = appendInt(append(b, `,"iteration":`...), n.Iteration)
		b = page.AppendString(append(b, `,"state":`...), peerState(n.State))
		b = append(b, `,"lastAttempt":`...)
		if n.LastAttempt == nil {
			b = append(b, "null"...)
		} else {
			b = appendInt(b, *n.LastAttempt)
		}
		b = page.AppendString(append(b, `,"outputTable":`...), n.OutputTable)
		b = append(jsonobject.AppendNullable(append(b, `,"label":`...), n.Label), '}')
		rows = append(rows, rowText{key: snapshot.Key(n.NodeID, n.Iteration), text: b})
	}
	return rows
}

// peerState maps a snapshot.NodeState to Smithers' state. In Smithers, a human task waits for an approval.
func peerState(s snapshot.NodeState) string {
	if s == snapshot.NodeWaitingHuman {
		s = snapshot.NodeWaitingApproval
	}
	return string(s)
}

// loopRows returns the rows of loops as Smithers writes them, sorted by id.
func loopRows(loops []snapshot.Loop) []rowText {
	loops = slices.SortedFunc(slices.Values(loops), func(a, b snapshot.Loop) int { return strings.Compare(a.RalphID, b.RalphID) })
	rows := make([]rowText, 0, len(loops))
	for _, l := range loops {
		b := page.AppendString([]byte(`{"ralphId":`), l.RalphID)
		b = appendInt(append(b, `,"iteration":`...), l.Iteration)
		b = append(strconv.AppendBool(append(b, `,"done":`...), l.Done), '}')
		rows = append(rows, rowText{key: l.RalphID, text: b})
	}
	return rows
}

// outputRows returns the rows of each table as Smithers writes them, by the name of the table. run is the run's
// id in the rows. The rows are sorted by provenance number. Rows without this number come last, sorted by node
// and iteration. A value that is not an object becomes the member "value". The rows share memory with the
// outputs.
func outputRows(run string, outputs []snapshot.Output) map[string][]rowText {
	tables := make(map[string][]rowText)
	for _, o := range slices.SortedFunc(slices.Values(outputs), compareOutputs) {
		row := rowText{key: snapshot.Key(o.NodeID, o.Iteration), head: appendOutputHead(nil, run, o)}
		if o.Value[0] == '{' {
			row.head, row.text = joined(row.head, o.Value)
		} else {
			row.text = append(append([]byte(`,"value":`), o.Value...), '}')
		}
		tables[o.Table] = append(tables[o.Table], row)
	}
	return tables
}

// joined adds members to the beginning of a JSON object, and returns the text of the new object in two parts.
// head is a brace and at least one new member. object is the text of the old object. The first result is head,
// with a comma if object has members. The second result, end, is object without its first brace.
func joined(head, object []byte) (_, end []byte) {
	end = object[1:]
	if end[jsontext.SkipSpace(end, 0)] != '}' {
		head = append(head, ',')
	}
	return head, end
}

// compareOutputs compares two outputs by the results of seqOf, then by node and iteration.
func compareOutputs(a, b snapshot.Output) int {
	return cmp.Or(cmp.Compare(seqOf(a.Value), seqOf(b.Value)), strings.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration))
}

// seqOf returns the provenance number of an output row. Smithers writes this number as the row's last member, so
// seqOf searches only the end of the row. If the row has no such number, seqOf returns 1<<62, so that the row
// sorts last.
func seqOf(row []byte) int64 {
	const (
		none    = 1 << 62
		name    = `"__smithersProvenanceSeq":`
		longest = len(name) + len("-9223372036854775808}")
	)
	end := row[max(len(row)-longest, 0):]
	i := bytes.LastIndex(end, []byte(name))
	if i < 0 {
		return none
	}
	// The last byte of a row is its brace.
	seq, err := readSeq(end[i+len(name) : len(end)-1])
	if err != nil {
		return none
	}
	return seq
}

// readSeq returns the integer in text. It returns an error if text is anything but an integer in its shortest
// spelling.
func readSeq(text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err == nil && strconv.FormatInt(n, 10) != string(text) {
		err = strconv.ErrSyntax
	}
	return n, err
}

// outputs returns the text of the column outputs_json, with the shape applied. run, signals and l are the
// parameters of Write. If the shape belongs to other outputs, the error is ErrShape.
func (s *Shape) outputs(run string, outputs []snapshot.Output, signals []SignalSeq, l Layout) ([]byte, error) {
	pieces, size, err := s.outputPieces(run, outputs, signals, l)
	if err != nil {
		return nil, err
	}
	return joinedPieces(pieces, size), nil
}

// outputPieces yields the text of outputs_json in pieces. size is the approximate length of the text in bytes.
// run, signals and l are the parameters of Write. A second name of a table gets the same rows as the first
// name. If the shape belongs to other outputs, the error is ErrShape.
func (s *Shape) outputPieces(run string, outputs []snapshot.Output, signals []SignalSeq, l Layout) (pieces iter.Seq[[]byte], size int, err error) {
	tables := outputRows(run, outputs)
	for table, rows := range tables {
		of := s.Outputs[table]
		if tables[table], err = of.apply(rows); err != nil {
			return nil, 0, err
		}
	}
	keys := s.keysFor(l, tables)
	for _, key := range keys {
		size += len(key.Name) + len(`"":,`) + len(key.Value) + sizeOf(tables[cmp.Or(key.Of, key.Name)])
	}
	pieces = func(yield func([]byte) bool) {
		before := byte('{')
		for _, key := range keys {
			if !yield(append(page.AppendString([]byte{before}, key.Name), ':')) {
				return
			}
			before = ','
			if key.isTable() || key.Of != "" {
				for piece := range arrayPieces(tables[cmp.Or(key.Of, key.Name)]) {
					if !yield(piece) {
						return
					}
				}
				continue
			}
			// A member without rows and without a Value is the horizon.
			if !yield([]byte(cmp.Or(key.Value, horizon(signals)))) {
				return
			}
		}
		if len(keys) == 0 && !yield([]byte{before}) {
			return
		}
		yield([]byte("}"))
	}
	return pieces, size + len("{-9223372036854775808}"), nil
}

// horizon returns the greatest number that Smithers gave to one of signals, as text. It returns "-1" if signals is
// empty.
func horizon(signals []SignalSeq) string {
	most := int64(-1)
	for _, signal := range signals {
		most = max(most, signal.Peer)
	}
	return strconv.FormatInt(most, 10)
}

// keysFor returns the members of outputs_json in order: the members that the shape lists, or else the members
// of the layout l, or else only the horizon. keysFor adds each table that has rows but is not in this list. The
// added tables are sorted by name, and are before the horizon, or at the end if there is no horizon.
func (s *Shape) keysFor(l Layout, tables map[string][]rowText) []LayoutKey {
	keys := l.Keys
	if s.Keys != nil {
		keys = s.Keys
	}
	if keys == nil {
		keys = []LayoutKey{{Name: horizonName}}
	}
	at := slices.IndexFunc(keys, func(k LayoutKey) bool { return k.Name == horizonName })
	if at < 0 {
		at = len(keys)
	}
	var more []LayoutKey
	for table := range tables {
		if !slices.ContainsFunc(keys, func(k LayoutKey) bool { return k.Name == table }) {
			more = append(more, LayoutKey{Name: table})
		}
	}
	slices.SortFunc(more, func(a, b LayoutKey) int { return strings.Compare(a.Name, b.Name) })
	return slices.Insert(slices.Clone(keys), at, more...)
}

// inputText returns the text of input_json. run is the id of the run, and input is the stored input. The text is
// input with runId as its first member. If bare is true, or if input already has a runId or is not an object, the
// text is input alone. If input is nil, the text is an empty object, which Smithers writes for a run without a row
// of input.
func inputText(run string, input []byte, bare bool) []byte {
	switch {
	case input == nil:
		return []byte("{}")
	case bare || input[0] != '{':
		return input
	}
	for m := range jsonobject.Members(input) {
		if m.Name == "runId" {
			return input
		}
	}
	head, end := joined(page.AppendString([]byte(`{"runId":`), run), input)
	return append(head, end...)
}

// appendInt appends n in decimal to b and returns the result.
func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
