package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// The values of Change.Op.
const (
	OpSet    = "set"
	OpRemove = "remove"
)

// The values of Change.Collection. OutputCollection returns the names of the collections of outputs.
const (
	CollectionNodes = "nodes"
	CollectionLoops = "loops"
	CollectionInput = "input" // a single value with the key ""

	// The journal.
	CollectionAttempts   = "attempts"
	CollectionLogs       = "logs"
	CollectionToolCalls  = "tool-calls"
	CollectionScores     = "scores"
	CollectionTranscript = "transcript"
	CollectionOps        = "ops"

	// The mailbox.
	CollectionApprovals     = "approvals"
	CollectionHumanRequests = "human-requests"
	CollectionSignals       = "signals"
	CollectionWaits         = "waits"
)

// outputsPrefix precedes the name of the table in the name of a collection of outputs.
const outputsPrefix = "outputs/"

// OutputCollection returns the name of the collection that has the rows of an output table: "outputs/<table>".
func OutputCollection(table string) string { return outputsPrefix + table }

// Change sets or removes one row of a state or of the journal. A row of outputs, or the input, is any JSON value
// and is stored byte for byte. A row of another collection is a JSON object with its members in any order;
// optional members may be left out. A row of "logs" is a JSON string.
type Change struct {
	Op         string          `json:"op"`         // "set" or "remove"
	Collection string          `json:"collection"` // one of the Collection… constants, or "outputs/<table>"
	Key        string          `json:"key"`        // "" for the input
	Value      json.RawMessage `json:"value,omitempty"`

	// Redacted means that all of the value is stored text: it has passed a Redactor already, so its placeholders are not text from outside.
	Redacted bool `json:"-"`
	// Amends means that the value of an output, or the input, repeats members of the row's value before. They are stored text.
	Amends bool `json:"-"`
	// Kept are parts of the value of an output that repeat the row's value before, in order and without overlaps. They are stored text.
	Kept []Kept `json:"-"`
	// Quotes are texts of other rows that the value of an output repeats: one of them as a whole, or each as the member of the name that it
	// has there. They are stored text.
	Quotes []Quote `json:"-"`
	// Seen is the number of bytes at the beginning of the value of an output that the row has had before, if the caller knows it. No
	// secret is looked for there, except near the end of these bytes.
	Seen int `json:"-"`
}

// SetOutput returns the change that sets the output of a node at an iteration, as a row of an output table.
func SetOutput(table, nodeID string, iteration int, value json.RawMessage) Change {
	return Change{Op: OpSet, Collection: OutputCollection(table), Key: Key(nodeID, iteration), Value: value}
}

// SetRow returns the change that sets a row of a collection.
func SetRow(collection string, row page.Row) Change {
	return Change{Op: OpSet, Collection: collection, Key: row.Key, Value: json.RawMessage(row.Value)}
}

// RemoveRow returns the change that removes the row with the key from a collection.
func RemoveRow(collection, key string) Change {
	return Change{Op: OpRemove, Collection: collection, Key: key}
}

// invalid returns err with the op, the collection and the key of c as a prefix. The result also wraps ErrInvalid.
func (c Change) invalid(err error) error {
	if !errors.Is(err, ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%s %s %q: %w", c.Op, c.Collection, c.Key, err)
}

// maxTable is the maximum size of a table's escaped name, in bytes.
const maxTable = 200

// checkTable returns an error if name cannot be the name of an output table: if name is empty, not UTF-8, or longer
// than maxTable when escaped.
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

// table returns the output table of the change. If the change is not in the collection of an output table, the
// error wraps ErrInvalid.
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
