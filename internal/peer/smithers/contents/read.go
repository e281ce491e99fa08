// Package contents converts the four texts of a Smithers snapshot to a snapshot.Whole and back. A Shape has the
// details of the texts that the state lacks, so that Write restores the texts byte for byte.
package contents

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/jsontext"
	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/jsonobject"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tree"
	"github.com/git-smithers/git-smithers/snapshot"
)

const (
	// hidden is the prefix of the members of outputs_json that are not tables.
	hidden = "__smithers"
	// horizonName is the member of outputs_json with the greatest number of the run's signals, or -1 without
	// signals.
	horizonName = "__smithersSignalProvenanceHorizon"
)

// Read returns the state in c, the texts of a snapshot: nodes, loops, the input without runId, and outputs. It
// reads each output row once, under the table's first name. An output lacks runId, nodeId and iteration, but
// keeps __smithersProvenanceSeq. An unknown state of a node becomes pending. The nodes get their needs and
// loops from rendered, the canonical rendered tree, which may be "". If the texts do not describe a state, the
// error is source.ErrDamaged. If the texts exceed the limits, the error is snapshot.ErrLimit.
func Read(c source.Contents, rendered string, limits snapshot.Limits) (snapshot.Whole, error) {
	r, err := Parse(c, rendered, limits)
	if err != nil {
		return snapshot.Whole{}, err
	}
	return r.Whole, nil
}

// Parse reads the texts of a snapshot as Read does, with the same parameters and errors. It also returns the
// details of the texts, from which Reading.Shape makes a Shape.
func Parse(c source.Contents, rendered string, limits snapshot.Limits) (*Reading, error) {
	r, err := parseContents(c, limits)
	if err != nil {
		return nil, err
	}
	return r, tree.PlaceNodes(r.Whole.Nodes, tree.Places(rendered))
}

// Reading holds the parsed texts of a snapshot.
type Reading struct {
	run    string               // the run's id in the output rows, or else in the input; "" if the texts have no id
	nodes  []rowText            // the rows of nodes_json
	loops  []rowText            // the rows of ralph_json
	tables map[string][]rowText // the rows of outputs_json, by table
	keys   []LayoutKey          // the members of outputs_json
	bare   bool                 // the input has no runId to remove
	Whole  snapshot.Whole       // the state
}

// rowText is one row in a list of a snapshot. key identifies the row in its list. The row's text is head
// followed by text.
type rowText struct {
	key        string
	head, text []byte
}

// is reports whether the row equals text byte for byte.
func (r rowText) is(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, r.head)
	return ok && bytes.Equal(rest, r.text)
}

// notState returns an error for texts that do not describe a state. The error wraps source.ErrDamaged and the
// reason, which has the given format and args.
func notState(format string, args ...any) error {
	return fmt.Errorf("%w: %w", source.ErrDamaged, fmt.Errorf(format, args...))
}

// parseContents parses the texts of the four columns in c: nodes, outputs, loops and input. The nodes of the
// result have no needs and loops yet. Errors name the column. If a text does not describe a state, the error is
// source.ErrDamaged. If a text exceeds the limits, the error is snapshot.ErrLimit.
func parseContents(c source.Contents, limits snapshot.Limits) (*Reading, error) {
	r := &Reading{tables: make(map[string][]rowText)}
	for _, part := range []struct {
		name, text string
		read       func([]byte, snapshot.Limits) error
	}{
		{"nodes", c.Nodes, r.readNodes},
		{"outputs", c.Outputs, r.readOutputs},
		{"ralph", c.Ralph, r.readLoops},
		{"input", c.Input, r.readInput},
	} {
		text := bytes.Trim([]byte(part.text), " \t\r\n")
		err := limits.CheckValue(text)
		switch {
		case errors.Is(err, snapshot.ErrLimit):
		case err != nil:
			err = notState("%w", err)
		default:
			err = part.read(text, limits)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return r, nil
}

// eachRow calls use for every row of array, a JSON array. It returns the rows with the keys that use returns.
//
// The error wraps source.ErrDamaged if array is not an array of objects, if use returns an error, or if two rows
// have the same key. The error is snapshot.ErrLimit if a key is too long.
func eachRow(array []byte, limits snapshot.Limits, use func(row []byte) (key string, err error)) ([]rowText, error) {
	if array[0] != '[' {
		return nil, notState("not an array")
	}
	rows := []rowText{}
	seen := make(map[string]bool)
	for row := range jsontext.Elements(array) {
		if row[0] != '{' {
			return nil, notState("row %d is not an object", len(rows))
		}
		key, err := use(row)
		switch {
		case err != nil:
			return nil, notState("row %d: %w", len(rows), err)
		case seen[key]:
			return nil, notState("%q is given twice", key)
		}
		if err := limits.CheckKey(key); err != nil {
			return nil, err
		}
		seen[key] = true
		rows = append(rows, rowText{key: key, text: row})
	}
	return rows, nil
}

// readNodes reads text, the column nodes_json, into r. readNodes returns the same errors as Read.
func (r *Reading) readNodes(text []byte, limits snapshot.Limits) (err error) {
	r.Whole.Nodes = []snapshot.Node{}
	r.nodes, err = eachRow(text, limits, func(row []byte) (string, error) {
		var n snapshot.Node
		for m := range jsonobject.Members(row) {
			if err := readNodeMember(&n, m); err != nil {
				return "", fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		switch {
		case n.NodeID == "":
			return "", errors.New("nodeId: missing")
		case n.State == "":
			return "", errors.New("state: missing")
		}
		n.State = ourState(n.State)
		r.Whole.Nodes = append(r.Whole.Nodes, n)
		return snapshot.Key(n.NodeID, n.Iteration), nil
	})
	return err
}

// readNodeMember sets the field of n that the member m of a node's row describes. It ignores members without a
// field. It returns an error if the value of the member is invalid.
func readNodeMember(n *snapshot.Node, m jsonobject.Member) (err error) {
	var text *string
	switch m.Name {
	case "nodeId":
		text, err = readText(m.Value)
		n.NodeID = orEmpty(text)
	case "iteration":
		n.Iteration, err = readCount(m.Value)
	case "state":
		text, err = readText(m.Value)
		n.State = snapshot.NodeState(orEmpty(text))
	case "lastAttempt":
		n.LastAttempt = nil
		if !jsonobject.IsNull(m.Value) {
			n.LastAttempt = new(int)
			*n.LastAttempt, err = readCount(m.Value)
		}
	case "outputTable":
		text, err = readText(m.Value)
		n.OutputTable = orEmpty(text)
	case "label":
		n.Label, err = readText(m.Value)
	}
	return err
}

// ourState maps a state of a node in Smithers to a snapshot.NodeState. Both programs use the same names for the
// states that Smithers has. A state that Smithers does not have becomes pending.
func ourState(s snapshot.NodeState) snapshot.NodeState {
	switch s {
	case snapshot.NodePending, snapshot.NodeInProgress, snapshot.NodeFinished, snapshot.NodeFailed, snapshot.NodeSkipped,
		snapshot.NodeCancelled, snapshot.NodeWaitingApproval, snapshot.NodeWaitingEvent, snapshot.NodeWaitingTimer:
		return s
	case snapshot.NodeWaitingHuman: // not a state of Smithers
	}
	return snapshot.NodePending
}

// readText returns the text of a JSON string, or nil for null. Any other value is an error.
func readText(value []byte) (*string, error) {
	switch {
	case jsonobject.IsNull(value):
		return nil, nil
	case !jsonobject.IsString(value):
		return nil, errors.New("not a string")
	}
	return new(jsontext.Unquote(value)), nil
}

// orEmpty returns the text that s points to, or "" if s is nil.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// readCount returns the integer in value, a JSON value. The integer must be from 0 to 2^53 - 1. readCount returns
// 0 for null, and an error for any other value.
func readCount(value []byte) (int, error) {
	const most = 1<<53 - 1
	if jsonobject.IsNull(value) {
		return 0, nil
	}
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 0 || n > min(most, math.MaxInt) || value[0] == '-' {
		return 0, errors.New("not a whole number from 0 to 2^53 - 1")
	}
	return n, nil
}

// readLoops reads text, the column ralph_json, into r. A loop is done if its member done is true or 1.
// readLoops returns the same errors as Read.
func (r *Reading) readLoops(text []byte, limits snapshot.Limits) (err error) {
	r.Whole.Loops = []snapshot.Loop{}
	r.loops, err = eachRow(text, limits, func(row []byte) (string, error) {
		var l snapshot.Loop
		for m := range jsonobject.Members(row) {
			var err error
			switch m.Name {
			case "ralphId":
				var id *string
				id, err = readText(m.Value)
				l.RalphID = orEmpty(id)
			case "iteration":
				l.Iteration, err = readCount(m.Value)
			case "done":
				l.Done = string(m.Value) == "true" || string(m.Value) == "1"
			}
			if err != nil {
				return "", fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		if l.RalphID == "" {
			return "", errors.New("ralphId: missing")
		}
		r.Whole.Loops = append(r.Whole.Loops, l)
		return l.RalphID, nil
	})
	return err
}

// readInput reads text, the column input_json, into r. If runId is the first member and is spelled as Smithers
// writes it, readInput removes runId and, if r.run is "", sets r.run to its value. Otherwise readInput sets
// r.bare and keeps the whole text.
func (r *Reading) readInput(text []byte, _ snapshot.Limits) error {
	r.Whole.Input = text
	r.bare = true
	// Look only at the first member, because Smithers writes runId first.
	for m := range jsonobject.Members(text) {
		if m.Name != "runId" || !jsonobject.IsString(m.Value) {
			break
		}
		run := jsontext.Unquote(m.Value)
		if rest, ok := bytes.CutPrefix(text, page.AppendString([]byte(`{"runId":`), run)); ok {
			if rest, ok = cutHead(rest); ok {
				r.Whole.Input, r.bare = rest, false
				if r.run == "" {
					r.run = run
				}
			}
		}
		break
	}
	return nil
}

// cutHead makes a JSON object from the end of another. rest is the text of the other object after its first
// members. The result has the members in rest, without the comma before them. cutHead returns false if rest
// begins neither with a further member nor with the end of the object.
func cutHead(rest []byte) ([]byte, bool) {
	switch {
	case len(rest) > 1 && rest[0] == ',' && rest[1] == '"':
		return append([]byte{'{'}, rest[1:]...), true
	case string(rest) == "}":
		return []byte("{}"), true
	}
	return nil, false
}

// isHidden reports whether name, the name of a member of outputs_json, is not the name of a table.
func isHidden(name string) bool { return strings.HasPrefix(name, hidden) }
