package snapshot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// The kinds of ops.
const (
	OpTravel  = "travel"
	OpReset   = "reset"
	OpRevert  = "revert"
	OpRestore = "restore"
	OpFork    = "fork"
	OpUndo    = "undo"
)

// Op is something that was done to a run as a whole and can be taken back. Its key in
// the journal's collection "ops" is its Number in decimal. Ops are a run's own: a
// fork's journal begins with the fork alone.
type Op struct {
	Number    int         `json:"op"` // from 1, rising by 1
	Kind      string      `json:"kind"`
	AtMs      int64       `json:"atMs"`
	Before    objstore.ID `json:"before,omitzero"` // the run's tip before it, what was saved of the working copy for it included; zero for a fork
	Frame     *int64      `json:"frame"`           // the frame that says what it made; nil where it made none
	To        *int64      `json:"to,omitempty"`    // of a travel, a reset or an engine's undo: the frame of this run whose state it went back to
	NodeID    string      `json:"nodeId,omitempty"`
	Iteration int         `json:"iteration,omitempty"`
	Attempt   int         `json:"attempt,omitempty"`
	NoDeps    bool        `json:"noDeps,omitempty"`
	Files     bool        `json:"files,omitempty"`    // files of a working copy were changed
	Worktree  string      `json:"worktree,omitempty"` // the task's own, where these files are in one
	Undoes    int         `json:"undoes,omitempty"`   // of an undo: the op that it took back
	UndoneBy  int         `json:"undoneBy,omitempty"` // the op that took this one back; 0: none
}

// ByEngine reports whether the op is another engine's, as an import found it: a travel to a frame, and not to before an
// attempt, or an undo, since the engine went on from a frame before the op that it undoes.
func (o Op) ByEngine() bool {
	return o.To != nil && (o.Kind == OpUndo || o.Kind == OpTravel && o.NodeID == "")
}

// EncodeOp is the row of an op.
func EncodeOp(o Op) page.Row {
	return page.Row{Key: strconv.Itoa(o.Number), Value: appendOp(nil, o)}
}

// DecodeOp reads the row of an op. Bytes that EncodeOp would not have written are
// objstore.ErrCorrupt.
func DecodeOp(row page.Row) (Op, error) {
	o, err := decodeOp(row)
	if err != nil {
		return Op{}, corrupt(objstore.ID{}, "op %q: %v", row.Key, err)
	}
	return o, nil
}

// splitOpKey reads the key of an op.
func splitOpKey(key string) (int, error) {
	n, ok := parseOrdinal(key)
	if !ok || n < 1 {
		return 0, fmt.Errorf("key %q: not the number of an op", key)
	}
	return n, nil
}

func decodeOp(row page.Row) (o Op, err error) {
	if o.Number, err = splitOpKey(row.Key); err != nil {
		return Op{}, err
	}
	m := metadata{rest: row.Value}
	m.name("atMs")
	o.AtMs = m.int()
	o.Attempt = int(m.count("attempt"))
	o.Before = m.optionalID("before")
	o.Files = m.optionalTrue("files")
	m.name("frame")
	o.Frame = nullable(&m, m.int)
	o.Iteration = int(m.count("iteration"))
	m.name("kind")
	o.Kind = m.str()
	o.NoDeps = m.optionalTrue("noDeps")
	o.NodeID = m.optionalStr("nodeId")
	if m.optional("to") {
		o.To = new(m.int())
	}
	o.Undoes, o.UndoneBy = int(m.count("undoes")), int(m.count("undoneBy"))
	o.Worktree = m.optionalStr("worktree")
	m.close()
	if !m.done("") || !bytes.Equal(appendOp(nil, o), row.Value) {
		return Op{}, errNotCanonical
	}
	if err := o.check(); err != nil {
		return Op{}, err
	}
	return o, nil
}

func appendOp(b []byte, o Op) []byte {
	b = appendIntMember(append(b, '{'), "atMs", o.AtMs)
	b = appendCount(b, "attempt", int64(o.Attempt))
	b = appendOptionalID(b, "before", o.Before)
	b = appendTrue(b, "files", o.Files)
	b = appendNullable(b, "frame", o.Frame, appendInt64)
	b = appendCount(b, "iteration", int64(o.Iteration))
	b = appendStringMember(b, "kind", o.Kind)
	b = appendTrue(b, "noDeps", o.NoDeps)
	b = appendOptional(b, "nodeId", o.NodeID)
	if o.To != nil {
		b = appendIntMember(b, "to", *o.To)
	}
	b = appendCount(b, "undoes", int64(o.Undoes))
	b = appendCount(b, "undoneBy", int64(o.UndoneBy))
	b = appendOptional(b, "worktree", o.Worktree)
	return append(b, '}')
}

// check says what of an op cannot be stored.
func (o Op) check() error {
	switch o.Kind {
	case OpTravel, OpReset, OpRevert, OpRestore, OpFork, OpUndo:
	default:
		return fmt.Errorf("kind: unknown kind %q", o.Kind)
	}
	for _, n := range []int{o.Iteration, o.Attempt, o.Undoes, o.UndoneBy} {
		if n < 0 || n > maxInteger {
			return fmt.Errorf("number out of range: %d", n)
		}
	}
	for _, frame := range []*int64{o.Frame, o.To} {
		if frame != nil && (*frame < 0 || *frame > maxInteger) {
			return fmt.Errorf("frame or to: out of range: %d", *frame)
		}
	}
	if o.Worktree != "" {
		if err := checkWorktreeName(o.Worktree); err != nil {
			return fmt.Errorf("worktree: %w", err)
		}
	}
	return cmp.Or(o.checkMeaning(), checkTimes(&o.AtMs), checkTexts(&o.NodeID))
}

// checkMeaning refuses members that do not go together.
func (o Op) checkMeaning() error {
	switch {
	case o.Number < 1 || o.Number > maxInteger:
		return errors.New("op: out of range")
	case (o.Kind == OpFork) != o.Before.IsZero():
		return errors.New("before: there in all but a fork")
	case (o.Kind == OpUndo) != (o.Undoes != 0) || o.Undoes >= o.Number:
		return errors.New("undoes: an earlier op, in an undo and nothing else")
	case o.UndoneBy != 0 && o.UndoneBy <= o.Number:
		return errors.New("undoneBy: not a later op")
	case o.NodeID == "" && (o.Iteration != 0 || o.Attempt != 0 || o.NoDeps):
		return errors.New("iteration, attempt or noDeps: of no node")
	}
	return nil
}

// parseOp reads an op as a change of the journal gives it. An empty key is found out.
func parseOp(key string, value json.RawMessage) (o Op, err error) {
	if key != "" {
		if o.Number, err = splitOpKey(key); err != nil {
			return Op{}, err
		}
	}
	number := o.Number
	err = eachMember(value, func(name string, value json.RawMessage) error {
		switch name {
		case "op":
			return field(value, &o.Number)
		case "kind":
			return field(value, &o.Kind)
		case "atMs":
			return field(value, &o.AtMs)
		case "before":
			return field(value, &o.Before)
		case "frame":
			return field(value, &o.Frame)
		case "to":
			return field(value, &o.To)
		case "undoes":
			return field(value, &o.Undoes)
		case "undoneBy":
			return field(value, &o.UndoneBy)
		}
		return o.targetField(name, value)
	})
	if err == nil && number != 0 && o.Number != number {
		err = errors.New("op: not that of the key")
	}
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return Op{}, fmt.Errorf("op %q: %w", key, err)
	}
	return o, nil
}

// targetField reads a member that says what the op was about.
func (o *Op) targetField(name string, value json.RawMessage) error {
	switch name {
	case "nodeId":
		return field(value, &o.NodeID)
	case "iteration":
		return field(value, &o.Iteration)
	case "attempt":
		return field(value, &o.Attempt)
	case "noDeps":
		return field(value, &o.NoDeps)
	case "files":
		return field(value, &o.Files)
	case "worktree":
		return field(value, &o.Worktree)
	}
	return errUnknownField
}
