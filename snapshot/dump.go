package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// DumpState returns a state as the JSON of a [Whole], rows sorted by key, signals by
// their Seq, with all members of each, compact but for the user's own values, which are
// byte for byte as they were given. (encoding/json would compact them.)
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

// memberOf returns the member of a whole state that has the rows of a collection: humanRequests for human-requests.
func memberOf(collection string) string {
	words := strings.Split(collection, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// dumper writes the members of a whole state. After the first error it does nothing.
type dumper struct {
	b   []byte
	err error
}

// array writes a member that is an array, whose elements write appends.
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

// next puts a comma before every element of an array but the first.
func (d *dumper) next() {
	if d.b[len(d.b)-1] != '[' {
		d.b = append(d.b, ',')
	}
}

// dumpRows writes the rows of a collection: each is its value, with what its key says in front.
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
			d.b = append(d.b, r.Value[1:]...)
		}
	})
}

// dumpPlace appends the node and iteration of a key that is one of a node's.
func dumpPlace(b []byte, key string) []byte {
	nodeID, iteration, _ := SplitKey(key) // whoever calls has decoded the row
	return row.AppendInt(row.AppendText(b, "nodeId", nodeID), "iteration", int64(iteration))
}

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

func (d *dumper) input(s *State) {
	if d.err != nil {
		return
	}
	input, err := s.Input()
	if d.err = err; input != nil {
		d.b = row.AppendRaw(d.b, "input", input)
	}
}

// dumpSignals writes signals, sorted by their Seq.
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
