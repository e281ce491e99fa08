package contents

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Layout is the layout of the outputs and the input in all snapshots of a run: the file ext/smithers/outputs. The
// zero Layout is for runs that Smithers never had.
type Layout struct {
	// Keys lists the members of outputs_json in order, or is nil if the members are unknown.
	Keys []LayoutKey `json:"keys,omitzero"`
	// BareInput means that input_json has no runId.
	BareInput bool `json:"bareInput,omitempty"`
}

// LayoutKey is one member of outputs_json.
type LayoutKey struct {
	Name string `json:"name"`
	// Of is the name of an earlier member, if this member has the same rows: the two members are the two names
	// of one table. Of is "" if the member has rows of its own or a Value.
	Of string `json:"of,omitempty"`
	// Value is the text of a value that is not an array of rows, byte for byte. It is "" for an array of rows.
	// It is also "" for a signal horizon as Write computes it: the greatest number of the state's signals, or
	// -1 without signals.
	Value string `json:"value,omitempty"`
}

// isTable reports whether k is a table with rows of its own. It returns false for the second name of a table, for
// a member that is not an array of rows, and for the signal horizon.
func (k LayoutKey) isTable() bool { return k.Of == "" && k.Value == "" && k.Name != horizonName }

// LayoutOf returns the layout of the outputs and the input in c, the texts of a snapshot. If the texts do not
// describe a state, the error is source.ErrDamaged. If the texts exceed the limits of the storage, the error is
// snapshot.ErrLimit.
//
// LayoutOf drops the number of the signal horizon, because Write computes the number. It drops Smithers' other hidden
// members, because their values belong to one snapshot: a fork of another frame must not get them. The newest snapshot
// of a run has the best layout for all its snapshots: as long as a table is empty, its two names can look like two
// empty tables.
func LayoutOf(c source.Contents) (Layout, error) {
	r, err := parseContents(c, widest)
	if err != nil {
		return Layout{}, err
	}
	keys := slices.DeleteFunc(slices.Clone(r.keys), func(k LayoutKey) bool { return isHidden(k.Name) && k.Name != horizonName })
	for i := range keys {
		if keys[i].Name == horizonName && isInteger(keys[i].Value) {
			keys[i].Value = ""
		}
	}
	return Layout{Keys: keys, BareInput: r.bare}, nil
}

// widest has the limits of the storage itself.
var widest = snapshot.Limits{Depth: 10000, Key: page.MaxKey, Value: page.MaxValue}

// isInteger reports whether text is an integer in its shortest spelling, for example -1. It returns false for an
// integer that does not fit in 64 bits.
func isInteger(text string) bool {
	_, err := readSeq([]byte(text))
	return err == nil
}

// readOutputs reads text, the column outputs_json, into r. text must not be empty. It sets r.keys to the members in
// order. If a table is a member under two names, readOutputs reads its rows once, under the first name. It keeps the
// text of a member that is not an array of rows of a table. If a member occurs several times, its last value counts,
// as in JavaScript. readOutputs returns the same errors as Read.
func (r *Reading) readOutputs(text []byte, limits snapshot.Limits) error {
	if text[0] != '{' {
		return notState("not an object")
	}
	last := make(map[string][]byte)
	for m := range jsonobject.Members(text) {
		last[m.Name] = m.Value
	}
	r.keys = []LayoutKey{}
	for m := range jsonobject.Members(text) {
		value, ok := last[m.Name]
		if !ok {
			continue
		}
		delete(last, m.Name)
		key := LayoutKey{Name: m.Name}
		switch {
		case value[0] != '[' || isHidden(m.Name):
			key.Value = string(value)
		default:
			if key.Of = r.sameAs(m.Name, value); key.Of == "" {
				if err := r.readTable(m.Name, value, limits); err != nil {
					return fmt.Errorf("%q: %w", m.Name, err)
				}
			}
		}
		r.keys = append(r.keys, key)
	}
	return nil
}

// sameAs looks for an earlier table that has exactly the same rows as value, the array of the table called name.
// It returns the name of the earlier table, or "" if there is no such table. If value has no rows, the name of
// the earlier table must also be name in snake case.
func (r *Reading) sameAs(name string, value []byte) string {
	for _, k := range r.keys {
		rows, ok := r.tables[k.Name]
		switch {
		case !ok || k.Of != "":
		case len(rows) == 0 && string(value) == "[]" && snakeCase(name) == k.Name:
			return k.Name
		case len(rows) > 0 && sameRows(rows, value):
			return k.Name
		}
	}
	return ""
}

// sameRows reports whether array, a JSON array, consists of exactly the given rows, in order and byte for byte.
func sameRows(rows []rowText, array []byte) bool {
	i := 0
	for row := range jsontext.Elements(array) {
		if i >= len(rows) || !rows[i].is(row) {
			return false
		}
		i++
	}
	return i == len(rows)
}

// snakeCase returns Smithers' name of the table for the key of a schema: each capital letter becomes a small
// letter, after "_" unless the letter is the first.
func snakeCase(key string) string {
	var b strings.Builder
	for i, c := range key {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// readTable reads array, the rows of the output table with the given name, into r. If r.run is "", readTable
// sets r.run to the first run's id in the rows. readTable returns the same errors as Read.
func (r *Reading) readTable(name string, array []byte, limits snapshot.Limits) error {
	if name == "" {
		return notState("a table without a name")
	}
	rows, err := eachRow(array, limits, func(row []byte) (string, error) {
		o, run, err := readOutput(row)
		if err != nil {
			return "", err
		}
		if r.run == "" {
			r.run = run
		}
		o.Table = name
		r.Whole.Outputs = append(r.Whole.Outputs, o)
		return snapshot.Key(o.NodeID, o.Iteration), nil
	})
	r.tables[name] = rows
	return err
}

// readOutput returns the output in a row, without the name of the table, and the run's id in the row. The value
// of the output is the row without runId, nodeId and iteration. If these three members come first, as Smithers
// writes them, the value keeps the row's spelling. Otherwise only the members of the value keep their spelling.
// readOutput returns an error if nodeId is missing, or if one of the three members has an invalid value.
func readOutput(row []byte) (o snapshot.Output, run string, err error) {
	var rest [][]byte
	for m := range jsonobject.Members(row) {
		var text *string
		switch m.Name {
		case "runId":
			text, err = readText(m.Value)
			run = orEmpty(text)
		case "nodeId":
			text, err = readText(m.Value)
			o.NodeID = orEmpty(text)
		case "iteration":
			o.Iteration, err = readCount(m.Value)
		default:
			rest = append(rest, m.Text)
		}
		if err != nil {
			return snapshot.Output{}, "", fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	if o.NodeID == "" {
		return snapshot.Output{}, "", errors.New("nodeId: missing")
	}
	if after, ok := bytes.CutPrefix(row, appendOutputHead(nil, run, o)); ok {
		if value, ok := cutHead(after); ok {
			o.Value = value
			return o, run, nil
		}
	}
	o.Value = append(append([]byte{'{'}, bytes.Join(rest, []byte{','})...), '}')
	return o, run, nil
}

// appendOutputHead appends to b the beginning of an output row, as Smithers writes it: the brace and the
// members runId, nodeId and iteration. It returns the extended slice.
func appendOutputHead(b []byte, run string, o snapshot.Output) []byte {
	b = page.AppendString(append(b, `{"runId":`...), run)
	b = page.AppendString(append(b, `,"nodeId":`...), o.NodeID)
	return appendInt(append(b, `,"iteration":`...), o.Iteration)
}
