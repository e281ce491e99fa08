package snapshot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// DumpState returns a state as the JSON of a [Whole], rows sorted by key, signals by
// their Seq, with all members of each, compact but for the user's own values, which are
// byte for byte as they were given. (encoding/json would compact them.)
func DumpState(s *State) (json.RawMessage, error) {
	var d dumper
	d.rows("nodes", s.Nodes(), decoder(DecodeNode), dumpPlace)
	d.outputs(s.tables)
	d.rows("loops", s.Loops(), decoder(DecodeLoop), dumpLoop)
	d.input(s)
	d.rows("approvals", s.Approvals(), decoder(DecodeApproval), dumpPlace)
	d.rows("humanRequests", s.HumanRequests(), decoder(DecodeHumanRequest), dumpPlace)
	d.signals(s.Signals())
	d.rows("waits", s.Waits(), decoder(DecodeWait), dumpPlace)
	if d.err != nil {
		return nil, d.err
	}
	return append(d.b, '}'), nil
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

// rows writes the rows of a collection, each as its value with what place says in front.
func (d *dumper) rows(name string, c *page.Collection, check func(page.Row) error, place func([]byte, string) []byte) {
	d.array(name, func() {
		for row, err := range c.Rows() {
			if err == nil {
				err = check(row)
			}
			if err != nil {
				d.err = fmt.Errorf("%s: %w", name, err)
				return
			}
			d.next()
			d.b = append(place(append(d.b, '{'), row.Key), ',')
			d.b = append(d.b, row.Value[1:]...)
		}
	})
}

// dumpPlace appends the node and iteration of a key that is one of a node's.
func dumpPlace(b []byte, key string) []byte {
	nodeID, iteration, _ := SplitKey(key) // whoever calls has decoded the row
	return row.AppendInt(row.AppendText(b, "nodeId", nodeID), "iteration", int64(iteration))
}

func dumpLoop(b []byte, key string) []byte { return row.AppendText(b, "ralphId", key) }

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

func (d *dumper) signals(c *page.Collection) {
	var signals []Signal
	for signal, err := range decoded(c, DecodeSignal) {
		if err != nil {
			d.err = cmp.Or(d.err, fmt.Errorf("signals: %w", err))
			return
		}
		signals = append(signals, signal)
	}
	slices.SortFunc(signals, func(a, b Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	d.array("signals", func() {
		for _, signal := range signals {
			d.next()
			d.b = signalKind.Append(d.b, &signal)
		}
	})
}
