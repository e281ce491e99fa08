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
)

const outputsPrefix = "outputs/"

// OutputCollection is the collection of an output table's rows.
func OutputCollection(table string) string { return outputsPrefix + table }

// Change changes one thing in a state, or in the journal. Rows of nodes, loops and
// attempts are JSON objects with their members in any order and the optional ones
// left out; output rows and the input are any JSON value, kept byte for byte.
type Change struct {
	Op         string          `json:"op"`         // "set" or "remove"
	Collection string          `json:"collection"` // "nodes", "outputs/<table>", "loops", "input"; "attempts", "logs" in the journal
	Key        string          `json:"key"`        // "" for input
	Value      json.RawMessage `json:"value,omitempty"`
}

// row is the change as its collection takes it. The error wraps ErrInvalid.
func (c Change) row(limits Limits) (page.Change, error) {
	value, err := c.value(limits)
	if err != nil {
		return page.Change{}, c.invalid(err)
	}
	return page.Change{Key: c.Key, Value: value}, nil
}

// invalid names the change that err is about.
func (c Change) invalid(err error) error {
	if !errors.Is(err, ErrInvalid) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return fmt.Errorf("%s %s %q: %w", c.Op, c.Collection, c.Key, err)
}

// value is what the row gets: nil for a removal.
func (c Change) value(limits Limits) ([]byte, error) {
	if err := limits.CheckKey(c.Key); err != nil {
		return nil, err
	}
	switch c.Op {
	case OpRemove:
		if c.Value != nil {
			return nil, errors.New("value: a removal has none")
		}
		return nil, nil
	case OpSet:
		if c.Value == nil {
			return nil, errors.New("value: missing")
		}
		return c.encode(limits)
	}
	return nil, fmt.Errorf("op: neither %q nor %q", OpSet, OpRemove)
}

// encode is the value of a row that is set, as it is stored.
func (c Change) encode(limits Limits) ([]byte, error) {
	switch c.Collection {
	case CollectionNodes:
		if _, err := decodeNode(page.Row{Key: c.Key, Value: c.Value}); err == nil {
			return c.Value, nil
		}
		if err := limits.CheckValue(c.Value); err != nil {
			return nil, err
		}
		n, err := parseNode(c.Key, c.Value)
		return EncodeNode(n).Value, err
	case CollectionLoops:
		if err := limits.CheckValue(c.Value); err != nil {
			return nil, err
		}
		l, err := parseLoop(c.Key, c.Value)
		return EncodeLoop(l).Value, err
	case CollectionAttempts:
		if err := limits.CheckValue(c.Value); err != nil {
			return nil, err
		}
		a, err := parseAttempt(c.Key, c.Value)
		return EncodeAttempt(a).Value, err
	case CollectionLogs:
		return c.encodeLog(limits)
	case CollectionInput:
		return c.Value, limits.CheckValue(c.Value)
	}
	if _, _, err := SplitKey(c.Key); err != nil {
		return nil, err
	}
	return c.Value, limits.CheckSize(c.Value)
}

func (c Change) encodeLog(limits Limits) ([]byte, error) {
	node, iteration, attempt, err := SplitAttemptKey(c.Key)
	if err != nil {
		return nil, err
	}
	if err := limits.CheckValue(c.Value); err != nil {
		return nil, err
	}
	if c.Value[0] != '"' {
		return nil, errors.New("a log is a JSON string")
	}
	var text string
	if err := json.Unmarshal(c.Value, &text); err != nil {
		return nil, err
	}
	return EncodeLog(node, iteration, attempt, text).Value, nil
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
