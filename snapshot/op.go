package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// The kinds of ops.
const (
	OpTravel  = "travel"
	OpReset   = "reset"
	OpRevert  = "revert"
	OpRestore = "restore"
	OpFork    = "fork"
	OpLand    = "land"
	OpUndo    = "undo"
)

// Op is an operation on a whole run that can be undone. The key of its row in the journal's collection "ops" is
// its Number in decimal. Each run has its own ops: the journal of a fork begins with only the fork.
type Op struct {
	Number    int         `json:"op"`                  // 1, 2, 3, … in the run
	Kind      string      `json:"kind"`                // one of the constants above
	AtMs      int64       `json:"atMs"`                // milliseconds since 1970
	Before    objstore.ID `json:"before,omitzero"`     // the run's tip before the op, including a frame that saved the working copy; zero for a fork
	Frame     *int64      `json:"frame"`               // the frame that the op made; nil if the op made no frame
	To        *int64      `json:"to,omitempty"`        // for a travel, a reset or an engine's undo: the frame of this run whose state was restored
	NodeID    string      `json:"nodeId,omitempty"`    // the node whose attempt the op concerned; "" for no node
	Iteration int         `json:"iteration,omitempty"` // the iteration of the node
	Attempt   int         `json:"attempt,omitempty"`   // the number of the attempt; 0 for no attempt
	NoDeps    bool        `json:"noDeps,omitempty"`    // the op reset the node alone, without the nodes that need the node
	Files     bool        `json:"files,omitempty"`     // the op changed files of a working copy
	Worktree  string      `json:"worktree,omitempty"`  // the task whose own worktree has these files; "" if the files are not in a task's own worktree
	Undoes    int         `json:"undoes,omitempty"`    // for an undo: the number of the undone op; 0 for other ops
	UndoneBy  int         `json:"undoneBy,omitempty"`  // the number of the undo of this op; 0 if the op was not undone
}

// ByEngine reports whether another engine made the op, and an import found the op in the engine's history. Two kinds of
// ops are made by engines:
//   - A travel with To and without NodeID: the engine went back to a frame.
//   - An undo with To: the engine continued from a frame before the undone op.
func (o Op) ByEngine() bool {
	return o.To != nil && (o.Kind == OpUndo || o.Kind == OpTravel && o.NodeID == "")
}

// opKind declares the rows of the collection "ops".
var opKind = row.Kind[Op]{
	Name: "op",
	Key: row.Key[Op]{
		Of: func(o *Op) string { return strconv.Itoa(o.Number) },
		Split: func(o *Op, key string) (err error) {
			o.Number, err = splitOpKey(key)
			return err
		},
		Fields: []row.Field[Op]{row.Int("op", func(o *Op) *int { return &o.Number })},
	},
	Fields: []row.Field[Op]{
		row.Int("atMs", func(o *Op) *int64 { return &o.AtMs }),
		row.Count("attempt", func(o *Op) *int { return &o.Attempt }),
		row.OptionalID("before", func(o *Op) *objstore.ID { return &o.Before }),
		row.True("files", func(o *Op) *bool { return &o.Files }),
		row.NullInt("frame", func(o *Op) **int64 { return &o.Frame }),
		row.Count("iteration", func(o *Op) *int { return &o.Iteration }),
		row.Text("kind", func(o *Op) *string { return &o.Kind }),
		row.True("noDeps", func(o *Op) *bool { return &o.NoDeps }),
		row.OptionalText("nodeId", func(o *Op) *string { return &o.NodeID }),
		row.OptionalInt("to", func(o *Op) **int64 { return &o.To }),
		row.Count("undoes", func(o *Op) *int { return &o.Undoes }),
		row.Count("undoneBy", func(o *Op) *int { return &o.UndoneBy }),
		row.OptionalText("worktree", func(o *Op) *string { return &o.Worktree }),
	},
	Check: Op.check,
}

// opRows describes the collection "ops" of the journal. A fork does not take over the parent's ops, because an op
// belongs to one run.
func opRows() *collection {
	c := rowsOf(CollectionOps, inJournal, &opKind)
	c.ownToRun = true
	return c
}

// EncodeOp returns the row of an op, without checking the op.
func EncodeOp(o Op) page.Row { return opKind.Encode(o) }

// DecodeOp decodes the row of an op. If EncodeOp would not have written the row, or the op is invalid, the
// error wraps objstore.ErrCorrupt.
func DecodeOp(r page.Row) (Op, error) { return opKind.Decode(r) }

// splitOpKey returns the number in an op's key. If the key is not a decimal number of at least 1, splitOpKey
// returns an error.
func splitOpKey(key string) (int, error) {
	n, ok := parseOrdinal(key)
	if !ok || n < 1 {
		return 0, fmt.Errorf("key %q: not the number of an op", key)
	}
	return n, nil
}

// check returns an error if the op cannot be stored: if the kind is unknown, a number or text is invalid, or fields
// contradict each other.
func (o Op) check() error {
	switch o.Kind {
	case OpTravel, OpReset, OpRevert, OpRestore, OpFork, OpLand, OpUndo:
	default:
		return fmt.Errorf("kind: unknown kind %q", o.Kind)
	}
	for _, n := range []int{o.Iteration, o.Attempt, o.Undoes, o.UndoneBy} {
		if n < 0 || n > row.MaxInteger {
			return fmt.Errorf("number out of range: %d", n)
		}
	}
	for _, frame := range []*int64{o.Frame, o.To} {
		if frame != nil && (*frame < 0 || *frame > row.MaxInteger) {
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

// checkMeaning returns an error if Number is out of range, or if fields of the op contradict its kind or each other.
func (o Op) checkMeaning() error {
	switch {
	case o.Number < 1 || o.Number > row.MaxInteger:
		return errors.New("op: out of range")
	case (o.Kind == OpFork) != o.Before.IsZero():
		return errors.New("before: must be missing in a fork, and set in other ops")
	case (o.Kind == OpUndo) != (o.Undoes != 0) || o.Undoes >= o.Number:
		return errors.New("undoes: must be an earlier op in an undo, and 0 in other ops")
	case o.UndoneBy != 0 && o.UndoneBy <= o.Number:
		return errors.New("undoneBy: must be a later op")
	case o.NodeID == "" && (o.Iteration != 0 || o.Attempt != 0 || o.NoDeps):
		return errors.New("iteration, attempt or noDeps: set without nodeId")
	}
	return nil
}
