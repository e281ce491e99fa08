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

// SetRow is the change that sets a row.
func SetRow(collection string, row page.Row) Change {
	return Change{Op: OpSet, Collection: collection, Key: row.Key, Value: json.RawMessage(row.Value)}
}

// RemoveRow is the change that removes a row.
func RemoveRow(collection, key string) Change {
	return Change{Op: OpRemove, Collection: collection, Key: key}
}

// invalid names the change that err is about.
func (c Change) invalid(err error) error {
	if !errors.Is(err, ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%s %s %q: %w", c.Op, c.Collection, c.Key, err)
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
