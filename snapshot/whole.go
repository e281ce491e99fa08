package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// Output is one output row. Value is the user's JSON, byte for byte.
type Output struct {
	Table     string
	NodeID    string
	Iteration int
	Value     json.RawMessage
}

// Whole is a whole state, for other engines and for people. ParseWhole reads and DumpState writes its JSON:
//
//	{"nodes":[{"nodeId":"a","iteration":0,"state":"finished",…}],
//	 "outputs":[{"table":"t","nodeId":"a","iteration":0,"value":…}],
//	 "loops":[{"ralphId":"l","iteration":0,"done":false}],
//	 "input":{…},
//	 "approvals":[{"nodeId":"a","iteration":0,"status":"requested",…}],
//	 "humanRequests":[{"nodeId":"a","iteration":0,"status":"pending",…}],
//	 "signals":[{"seq":0,"name":"s",…}],
//	 "waits":[{"nodeId":"a","iteration":0,"kind":"timer",…}]}
//
// If the JSON does not have the member for a collection of the mailbox, the field is nil, and ChangesTo leaves the
// collection unchanged. So an engine need not know the mailbox. If the field is empty but not nil, ChangesTo removes
// all rows of the collection.
type Whole struct {
	Nodes   []Node
	Outputs []Output
	Loops   []Loop
	Input   json.RawMessage // nil if the state has no input

	Approvals     []Approval
	HumanRequests []HumanRequest
	Signals       []Signal
	Waits         []Wait
}

// ParseWhole reads the JSON of a whole state. The size and depth in limits apply to data as a whole. Members may be in
// any order or left out; a missing iteration is 0. Values are kept byte for byte, and share memory with data. If a
// member is unknown, a row is repeated, or a row cannot be stored, the error wraps ErrInvalid and names the member or
// row.
func ParseWhole(limits Limits, data []byte) (Whole, error) {
	data = bytes.Trim(data, " \t\r\n")
	if err := limits.CheckValue(data); err != nil {
		return Whole{}, err
	}
	var w Whole
	err := row.EachMember(data, func(name string, value json.RawMessage) error {
		switch name {
		case "nodes":
			return row.EachElement(value, w.addNode)
		case "outputs":
			return row.EachElement(value, w.addOutput)
		case "loops":
			return row.EachElement(value, w.addLoop)
		case "input":
			w.Input = value
			return nil
		}
		return w.addMail(name, value)
	})
	if err == nil {
		_, err = w.rows()
	}
	if err != nil {
		return Whole{}, invalid("state: %w", err)
	}
	return w, nil
}

// addMail reads value, a member of a whole state, into the collection of the mailbox that has the name of the member.
// If value is valid, the collection is not nil afterwards, even without rows. If no collection of the mailbox has the
// name, the error is row.ErrUnknownField.
func (w *Whole) addMail(name string, value json.RawMessage) (err error) {
	switch name {
	case "approvals":
		w.Approvals, err = parseAll(value, &approvalKind)
	case "humanRequests":
		w.HumanRequests, err = parseAll(value, &humanRequestKind)
	case "signals":
		w.Signals, err = parseAll(value, &signalKind)
	case "waits":
		w.Waits, err = parseAll(value, &waitKind)
	default:
		err = row.ErrUnknownField
	}
	return err
}

// parseAll reads a JSON array of rows. Each element is an object with the members of the row's key and of its
// value. The result is not nil, even if the array is empty.
func parseAll[T any](array json.RawMessage, kind *row.Kind[T]) ([]T, error) {
	rows := []T{}
	err := row.EachElement(array, func(_ int, value json.RawMessage) error {
		v, err := kind.Parse("", value)
		rows = append(rows, v)
		return err
	})
	return rows, err
}

// addNode parses an element of "nodes" and appends the node to w.Nodes.
func (w *Whole) addNode(_ int, value json.RawMessage) error {
	n, err := nodeKind.Parse("", value)
	w.Nodes = append(w.Nodes, n)
	return err
}

// addLoop parses an element of "loops" and appends the loop to w.Loops.
func (w *Whole) addLoop(_ int, value json.RawMessage) error {
	l, err := loopKind.Parse("", value)
	w.Loops = append(w.Loops, l)
	return err
}

// addOutput parses an element of "outputs" and appends the output to w.Outputs.
func (w *Whole) addOutput(_ int, value json.RawMessage) error {
	o, err := outputKind.Parse("", value)
	w.Outputs = append(w.Outputs, o)
	return err
}

// outputKind declares outputs as members of a whole state. Only Parse is used, because the stored row of an output
// is just its value.
var outputKind = row.Kind[Output]{
	Name: "output",
	Key:  nodeKey(func(o *Output) (*string, *int) { return &o.NodeID, &o.Iteration }),
	Fields: []row.Field[Output]{
		row.Text("table", func(o *Output) *string { return &o.Table }),
		row.JSON("value", func(o *Output) *json.RawMessage { return &o.Value }),
	},
	Check: func(o Output) error {
		if o.Value == nil {
			return errors.New("value: missing")
		}
		return checkTable(o.Table)
	},
}

// wholeRow identifies one row of a state by its collection and key.
type wholeRow struct{ collection, key string }

// wholeRows maps every row of a state to its value. The input is a row with the key "".
type wholeRows map[wholeRow][]byte

// add adds a row of a collection to r. If r already has a row of the collection with the same key, add returns an
// error and does not change r.
func (r wholeRows) add(collection string, row page.Row) error {
	at := wholeRow{collection, row.Key}
	if _, ok := r[at]; ok {
		return fmt.Errorf("%s: %q: given twice", collection, row.Key)
	}
	r[at] = row.Value
	return nil
}

// addAll encodes each row of the slice rows and adds it to r as a row of the collection. If r already has a row of the
// collection with the same key, addAll stops and returns an error.
func addAll[T any](r wholeRows, collection string, rows []T, encode func(T) page.Row) error {
	for _, row := range rows {
		if err := r.add(collection, encode(row)); err != nil {
			return err
		}
	}
	return nil
}

// rows returns all rows of the state in their stored form, and the input. A repeated row is an error.
func (w *Whole) rows() (wholeRows, error) {
	rows := make(wholeRows, len(w.Nodes)+len(w.Outputs)+len(w.Loops)+1)
	for _, o := range w.Outputs {
		row := page.Row{Key: Key(o.NodeID, o.Iteration), Value: o.Value}
		if err := rows.add(OutputCollection(o.Table), row); err != nil {
			return nil, err
		}
	}
	if w.Input != nil {
		rows[wholeRow{collection: CollectionInput}] = w.Input
	}
	err := cmp.Or(
		addAll(rows, CollectionNodes, w.Nodes, EncodeNode),
		addAll(rows, CollectionLoops, w.Loops, EncodeLoop),
		addAll(rows, CollectionApprovals, w.Approvals, EncodeApproval),
		addAll(rows, CollectionHumanRequests, w.HumanRequests, EncodeHumanRequest),
		addAll(rows, CollectionSignals, w.Signals, EncodeSignal),
		addAll(rows, CollectionWaits, w.Waits, EncodeWait),
	)
	return rows, err
}

// leaves reports whether ChangesTo must leave a collection unchanged: whether the collection belongs to the mailbox,
// and its field in w is nil.
func (w *Whole) leaves(collection string) bool {
	switch collection {
	case CollectionApprovals:
		return w.Approvals == nil
	case CollectionHumanRequests:
		return w.HumanRequests == nil
	case CollectionSignals:
		return w.Signals == nil
	case CollectionWaits:
		return w.Waits == nil
	}
	return false
}

// ChangesTo returns the changes that turn s into whole: one change for each row that differs, sorted by
// collection and key. ChangesTo neither reads nor changes the collections of the mailbox that are nil in whole.
// It reads all other parts of s. If whole has a repeated row, the error wraps ErrInvalid.
func ChangesTo(s *State, whole Whole) ([]Change, error) {
	want, err := whole.rows()
	if err != nil {
		return nil, invalid("state: %w", err)
	}
	var changes []Change
	// compare adds the change for a row of s, if the row differs, and deletes the row from want.
	compare := func(collection string, row page.Row) {
		at := wholeRow{collection, row.Key}
		value, ok := want[at]
		delete(want, at)
		switch {
		case !ok:
			changes = append(changes, Change{Op: OpRemove, Collection: collection, Key: row.Key})
		case string(value) != string(row.Value):
			changes = append(changes, SetRow(collection, page.Row{Key: row.Key, Value: value}))
		}
	}
	for collection, rows := range s.Collections() {
		if whole.leaves(collection) {
			continue
		}
		for row, err := range rows.Rows() {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", collection, err)
			}
			compare(collection, row)
		}
	}
	input, err := s.Input()
	if err != nil {
		return nil, err
	}
	if input != nil {
		compare(CollectionInput, page.Row{Value: input})
	}
	for at, value := range want { // the rows that s does not have
		changes = append(changes, SetRow(at.collection, page.Row{Key: at.key, Value: value}))
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Collection, b.Collection), strings.Compare(a.Key, b.Key))
	})
	return changes, nil
}
