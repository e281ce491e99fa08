package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
)

// DumpState returns a state as the JSON of a [Whole], with all members of every row. Signals are sorted by Seq, and
// other rows by key. The user's values are byte for byte as the user gave them, and the other JSON is compact.
// DumpState does not use encoding/json, which would compact the user's values too. If a row cannot be decoded,
// DumpState returns an error.
func DumpState(s *State) (json.RawMessage, error) {
	var d dumper
	for _, c := range s.core {
		c.of.dump(&d, memberOf(c.of.name), c.Collection)
		if c.of.name == CollectionNodes {
			d.outputs(s.tables)
		}
	}
	d.input(s)
	for _, c := range s.mail {
		c.of.dump(&d, memberOf(c.of.name), c.Collection)
	}
	if d.err != nil {
		return nil, d.err
	}
	return append(d.b, '}'), nil
}

// memberOf returns the name of a collection's member in a whole state, such as humanRequests for
// human-requests.
func memberOf(collection string) string {
	words := strings.Split(collection, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// dumper appends the members of a whole state to b. err is the first error, after which no more members are appended.
type dumper struct {
	b   []byte
	err error
}

// array appends a member with the given name, whose value is an array. write must append the elements, and must set
// d.err if it fails. Before the first member, array also appends the opening brace of the object. If d.err is already
// set, array does nothing.
func (d *dumper) array(name string, write func()) {
	if d.err != nil {
		return
	}
	if d.b == nil {
		d.b = []byte{'{'}
	}
	d.b = append(row.AppendName(d.b, name), '[')
	write()
	d.b = append(d.b, ']')
}

// next appends a comma if the array already has an element. It must be called before each element.
func (d *dumper) next() {
	if d.b[len(d.b)-1] != '[' {
		d.b = append(d.b, ',')
	}
}

// dumpRows writes the rows of c, which have the given kind, as an array with the given name. Each element has the
// members of the row's key, then the members of the row's value. An error is stored in d.err.
func dumpRows[T any](d *dumper, name string, c *page.Collection, kind *row.Kind[T]) {
	d.array(name, func() {
		for r, err := range c.Rows() {
			var v T
			if err == nil {
				v, err = kind.Decode(r)
			}
			if err != nil {
				d.err = fmt.Errorf("%s: %w", name, err)
				return
			}
			d.next()
			d.b = append(row.AppendFields(append(d.b, '{'), kind.Key.Fields, &v), ',')
			d.b = append(d.b, r.Value[1:]...) // without the opening brace
		}
	})
}

// dumpPlace appends the members nodeId and iteration to b. Their values are the parts of key, which must be valid.
func dumpPlace(b []byte, key string) []byte {
	nodeID, iteration, _ := SplitKey(key) // the caller has checked the key
	return row.AppendInt(row.AppendText(b, "nodeId", nodeID), "iteration", int64(iteration))
}

// outputs writes the outputs of all tables as one array. An error is stored in d.err.
func (d *dumper) outputs(tables []table) {
	d.array("outputs", func() {
		for _, t := range tables {
			for r, err := range t.rows.Rows() {
				if err == nil {
					err = checkOutputKey(r)
				}
				if err != nil {
					d.err = fmt.Errorf("outputs of %s: %w", t.name, err)
					return
				}
				d.next()
				d.b = dumpPlace(row.AppendText(append(d.b, '{'), "table", t.name), r.Key)
				d.b = append(row.AppendRaw(d.b, "value", r.Value), '}')
			}
		}
	})
}

// input writes the input of s, if s has an input. An error is stored in d.err.
func (d *dumper) input(s *State) {
	if d.err != nil {
		return
	}
	input, err := s.Input()
	if d.err = err; input != nil {
		d.b = row.AppendRaw(d.b, "input", input)
	}
}

// dumpSignals writes the signals in c, sorted by Seq, as an array with the given name. An error is stored in d.err.
func dumpSignals(d *dumper, name string, c *page.Collection) {
	var signals []Signal
	for signal, err := range decoded(c, DecodeSignal) {
		if err != nil {
			d.err = cmp.Or(d.err, fmt.Errorf("%s: %w", name, err))
			return
		}
		signals = append(signals, signal)
	}
	slices.SortFunc(signals, func(a, b Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	d.array(name, func() {
		for _, signal := range signals {
			d.next()
			d.b = signalKind.Append(d.b, &signal)
		}
	})
}
