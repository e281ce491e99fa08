package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
)

// Output is one output row: the user's JSON, byte for byte.
type Output struct {
	Table     string
	NodeID    string
	Iteration int
	Value     json.RawMessage
}

// Whole is a whole state, as other engines hand it in and people read it. Its JSON
// is what ParseWhole reads and DumpState writes:
//
//	{"nodes":[{"nodeId":"a","iteration":0,"state":"finished",…}],
//	 "outputs":[{"table":"t","nodeId":"a","iteration":0,"value":…}],
//	 "loops":[{"ralphId":"l","iteration":0,"done":false}],
//	 "input":{…}}
type Whole struct {
	Nodes   []Node
	Outputs []Output
	Loops   []Loop
	Input   json.RawMessage // nil for none
}

// ParseWhole reads a whole state. Members may be in any order and left out;
// iteration is 0 where it is left out. Values are kept byte for byte. An unknown
// member, a row that comes twice, or one that cannot be stored is an error wrapping
// ErrInvalid, which says where. The default Limits hold.
func ParseWhole(data []byte) (Whole, error) { return ParseWholeWithin(Limits{}, data) }

// ParseWholeWithin is ParseWhole with limits of the caller's choice.
func ParseWholeWithin(limits Limits, data []byte) (Whole, error) {
	data = bytes.Trim(data, " \t\r\n")
	if err := limits.CheckValue(data); err != nil {
		return Whole{}, err
	}
	var w Whole
	err := eachMember(data, func(name string, value json.RawMessage) error {
		switch name {
		case "nodes":
			return eachElement(value, w.addNode)
		case "outputs":
			return eachElement(value, w.addOutput)
		case "loops":
			return eachElement(value, w.addLoop)
		case "input":
			w.Input = value
			return nil
		}
		return errUnknownField
	})
	if err == nil {
		_, err = w.rows()
	}
	if err != nil {
		return Whole{}, invalid("state: %w", err)
	}
	return w, nil
}

func (w *Whole) addNode(_ int, value json.RawMessage) error {
	n, err := parseNode("", value)
	w.Nodes = append(w.Nodes, n)
	return err
}

func (w *Whole) addLoop(_ int, value json.RawMessage) error {
	l, err := parseLoop("", value)
	w.Loops = append(w.Loops, l)
	return err
}

func (w *Whole) addOutput(_ int, value json.RawMessage) error {
	var o Output
	var place rowPlace
	err := eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "table":
			return field(value, &o.Table)
		case "value":
			o.Value = value
			return nil
		}
		return place.member(name, value)
	})
	if err != nil {
		return err
	}
	if o.NodeID, o.Iteration, err = place.resolve(); err != nil {
		return err
	}
	if o.Value == nil {
		return fmt.Errorf("output %q: value: missing", Key(o.NodeID, o.Iteration))
	}
	w.Outputs = append(w.Outputs, o)
	return checkTable(o.Table)
}

// wholeRow names one row of a state.
type wholeRow struct{ collection, key string }

// rows are the values of all rows; the input is a row without a key.
func (w *Whole) rows() (map[wholeRow][]byte, error) {
	rows := make(map[wholeRow][]byte, len(w.Nodes)+len(w.Outputs)+len(w.Loops)+1)
	add := func(collection string, row page.Row) error {
		at := wholeRow{collection, row.Key}
		if _, ok := rows[at]; ok {
			return fmt.Errorf("%s: %q: given twice", collection, row.Key)
		}
		rows[at] = row.Value
		return nil
	}
	for _, n := range w.Nodes {
		if err := add(CollectionNodes, EncodeNode(n)); err != nil {
			return nil, err
		}
	}
	for _, o := range w.Outputs {
		row := page.Row{Key: Key(o.NodeID, o.Iteration), Value: o.Value}
		if err := add(OutputCollection(o.Table), row); err != nil {
			return nil, err
		}
	}
	for _, l := range w.Loops {
		if err := add(CollectionLoops, EncodeLoop(l)); err != nil {
			return nil, err
		}
	}
	if w.Input != nil {
		rows[wholeRow{collection: CollectionInput}] = w.Input
	}
	return rows, nil
}

// ChangesTo returns the changes that lead from s to a whole state: the rows that
// differ and nothing else, sorted by collection and key. It reads all of s.
func ChangesTo(s *State, whole Whole) ([]Change, error) {
	want, err := whole.rows()
	if err != nil {
		return nil, invalid("state: %w", err)
	}
	var changes []Change
	compare := func(collection string, row page.Row) {
		at := wholeRow{collection, row.Key}
		value, ok := want[at]
		delete(want, at)
		switch {
		case !ok:
			changes = append(changes, Change{Op: OpRemove, Collection: collection, Key: row.Key})
		case string(value) != string(row.Value):
			changes = append(changes, setRow(collection, page.Row{Key: row.Key, Value: value}))
		}
	}
	for collection, rows := range s.collections() {
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
	for at, value := range want {
		changes = append(changes, setRow(at.collection, page.Row{Key: at.key, Value: value}))
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Collection, b.Collection), strings.Compare(a.Key, b.Key))
	})
	return changes, nil
}

// collections are the collections that a state may have rows in, by the names that a Change has for them.
func (s *State) collections() map[string]*page.Collection {
	all := map[string]*page.Collection{CollectionNodes: s.nodes, CollectionLoops: s.loops}
	for _, t := range s.tables {
		all[OutputCollection(t.name)] = t.rows
	}
	return all
}

// DumpState returns a state as the JSON of a [Whole], rows sorted by key, with all
// members of each, compact but for the user's own values, which are byte for byte
// as they were given. (encoding/json would compact them.)
func DumpState(s *State) (json.RawMessage, error) {
	b := []byte(`{"nodes":[`)
	for row, err := range s.nodes.Rows() {
		if err != nil {
			return nil, fmt.Errorf("nodes: %w", err)
		}
		n, err := DecodeNode(row)
		if err != nil {
			return nil, err
		}
		b = dumpPlace(nextElement(b), n.NodeID, n.Iteration)
		b = append(append(b, ','), row.Value[1:]...)
	}
	b = append(b, `],"outputs":[`...)
	for _, t := range s.tables {
		for row, err := range t.rows.Rows() {
			if err != nil {
				return nil, fmt.Errorf("outputs of %s: %w", t.name, err)
			}
			nodeID, iteration, err := SplitKey(row.Key)
			if err != nil {
				return nil, checkOutputKey(row)
			}
			b = appendStringMember(append(nextElement(b), '{'), "table", t.name)
			b = append(b, ',')
			b = append(b, dumpPlace(nil, nodeID, iteration)[1:]...)
			b = append(append(appendName(b, "value"), row.Value...), '}')
		}
	}
	b = append(b, `],"loops":[`...)
	for row, err := range s.loops.Rows() {
		if err != nil {
			return nil, fmt.Errorf("loops: %w", err)
		}
		if _, err := DecodeLoop(row); err != nil {
			return nil, err
		}
		b = appendStringMember(append(nextElement(b), '{'), "ralphId", row.Key)
		b = append(append(b, ','), row.Value[1:]...)
	}
	b = append(b, ']')
	input, err := s.Input()
	if err != nil {
		return nil, err
	}
	if input != nil {
		b = append(append(b, `,"input":`...), input...)
	}
	return append(b, '}'), nil
}

// nextElement puts a comma before every element of an array but the first.
func nextElement(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

// dumpPlace begins an object with the node and iteration that a row is of.
func dumpPlace(b []byte, nodeID string, iteration int) []byte {
	b = appendStringMember(append(b, '{'), "nodeId", nodeID)
	return appendIntMember(b, "iteration", int64(iteration))
}
