package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/objstore/page"
)

// What a Change does.
const (
	OpSet    = "set"
	OpRemove = "remove"
)

// The collections that a Change may name, besides those of OutputCollection.
const (
	CollectionNodes    = "nodes"
	CollectionLoops    = "loops"
	CollectionInput    = "input"    // one value without a key
	CollectionAttempts = "attempts" // in the journal
	CollectionLogs     = "logs"     // in the journal
	CollectionOps      = "ops"      // in the journal

	// The mailbox.
	CollectionApprovals     = "approvals"
	CollectionHumanRequests = "human-requests"
	CollectionSignals       = "signals"
	CollectionWaits         = "waits"
)

const outputsPrefix = "outputs/"

// OutputCollection is the collection of an output table's rows.
func OutputCollection(table string) string { return outputsPrefix + table }

// Change changes one thing in a state, or in the journal. Rows of nodes, loops and
// attempts are JSON objects with their members in any order and the optional ones
// left out; output rows and the input are any JSON value, kept byte for byte.
type Change struct {
	Op         string          `json:"op"`         // "set" or "remove"
	Collection string          `json:"collection"` // "nodes", "outputs/<table>", "loops", "input", one of the mailbox; "attempts", "logs", "ops" in the journal
	Key        string          `json:"key"`        // "" for input
	Value      json.RawMessage `json:"value,omitempty"`
}

// SetOutput is the change that sets what a node put out.
func SetOutput(table, nodeID string, iteration int, value json.RawMessage) Change {
	return Change{Op: OpSet, Collection: OutputCollection(table), Key: Key(nodeID, iteration), Value: value}
}

// row is the change as its collection takes it. The error wraps ErrInvalid.
func (c Change) row(known registry, limits Limits) (page.Change, error) {
	row, err := c.encode(known, limits)
	if err == nil {
		err = limits.CheckKey(row.Key)
	}
	if err != nil {
		return page.Change{}, c.invalid(err)
	}
	return page.Change(row), nil
}

// invalid names the change that err is about.
func (c Change) invalid(err error) error {
	if !errors.Is(err, ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%s %s %q: %w", c.Op, c.Collection, c.Key, err)
}

// encode is the row that is set, as it is stored; one without a value for a removal.
func (c Change) encode(known registry, limits Limits) (page.Row, error) {
	switch {
	case c.Op == OpRemove && c.Value != nil:
		return page.Row{}, errors.New("value: a removal has none")
	case c.Op == OpRemove:
		return page.Row{Key: c.Key}, nil
	case c.Op != OpSet:
		return page.Row{}, fmt.Errorf("op: neither %q nor %q", OpSet, OpRemove)
	case c.Value == nil:
		return page.Row{}, errors.New("value: missing")
	}
	if c.Collection == CollectionInput {
		return page.Row{Key: c.Key, Value: c.Value}, limits.CheckValue(c.Value)
	}
	if of := known.named(c.Collection); of != nil {
		return c.encodeRow(of, limits)
	}
	if _, _, err := SplitKey(c.Key); err != nil {
		return page.Row{}, err
	}
	return page.Row{Key: c.Key, Value: c.Value}, limits.CheckSize(c.Value)
}

// encodeRow returns the stored row of a collection.
func (c Change) encodeRow(of *collection, limits Limits) (page.Row, error) {
	if of.name == CollectionNodes { // engines mostly hand in stored rows
		row := page.Row{Key: c.Key, Value: c.Value}
		if _, err := nodeKind.Read(row); err == nil {
			return row, nil
		}
	}
	if err := limits.CheckValue(c.Value); err != nil {
		return page.Row{}, err
	}
	return of.encode(c.Key, c.Value)
}

// maxTable is the largest size of a table's name in bytes, as a tree spells it.
const maxTable = 200

// checkTable says why a table cannot be called name.
func checkTable(name string) error {
	switch {
	case name == "":
		return errors.New("empty table name")
	case !utf8.ValidString(name):
		return fmt.Errorf("table name %q is not UTF-8", name)
	case len(escape(name, plainTable)) > maxTable:
		return fmt.Errorf("table name %q has more than %d bytes when escaped", name, maxTable)
	}
	return nil
}

// table is the output table that the change is about.
func (c Change) table() (string, error) {
	name, ok := strings.CutPrefix(c.Collection, outputsPrefix)
	if !ok {
		return "", c.invalid(errors.New("unknown collection"))
	}
	if err := checkTable(name); err != nil {
		return "", c.invalid(err)
	}
	return name, nil
}
