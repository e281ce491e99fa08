package verify

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// opsVerifier checks the ops of a run. The caller reads the chain from the newest entry back.
type opsVerifier struct {
	place map[objstore.ID]int // the distance of each entry from the tip, in entries
	made  map[int]int         // for each op number, the place of the entry that added the op
	tip   *snapshot.Entry     // the newest checked entry of the run whose ops are checked; nil at first

	extension bool // the ops belong to the run that the chain's run extends
}

// newOpsVerifier returns an opsVerifier that has read no entry.
func newOpsVerifier() *opsVerifier {
	return &opsVerifier{place: make(map[objstore.ID]int), made: make(map[int]int)}
}

// met records that the entry with the given id is the next older entry of the chain.
func (o *opsVerifier) met(id objstore.ID) { o.place[id] = len(o.place) }

// step checks the changes to the ops between the entries older and newer. An entry may add ops, and mark
// older ops as undone by the new ops. It must not remove an op.
func (o *opsVerifier) step(older *snapshot.Entry, newer *link) error {
	if o.tip == nil {
		o.tip = newer.entry
	}
	before, err := older.Ops()
	if err != nil {
		return err
	}
	after, err := newer.entry.Ops()
	if err != nil {
		return err
	}
	for delta, err := range page.Diff(before, after) {
		if err != nil {
			return fmt.Errorf("ops: %w", err)
		}
		op, err := snapshot.DecodeOp(page.Row{Key: delta.Key, Value: delta.To})
		if err != nil {
			return err
		}
		if delta.From == nil {
			err = o.add(op, newer)
		} else {
			err = undone(page.Row{Key: delta.Key, Value: delta.From}, op, before.Len())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add records op and by, the entry that adds op. It returns an error if op names a frame that does not exist yet.
func (o *opsVerifier) add(op snapshot.Op, by *link) error {
	o.made[op.Number] = o.place[by.entry.ID]
	for _, frame := range []*int64{op.Frame, op.To} {
		if frame != nil && *frame > by.row.Frame {
			return fmt.Errorf("%w: op %d names frame %d, which does not exist yet", objstore.ErrCorrupt, op.Number, *frame)
		}
	}
	return nil
}

// undone returns an error unless an entry only marks an op as undone, for the first time, by a new op. row is the op's
// row before the change, and after is the op after the change. opCount is the number of ops before the change.
func undone(row page.Row, after snapshot.Op, opCount int) error {
	before, err := snapshot.DecodeOp(row)
	if err != nil {
		return err
	}
	was := before.UndoneBy
	before.UndoneBy = after.UndoneBy
	if was != 0 || after.UndoneBy <= opCount || string(snapshot.EncodeOp(before).Value) != string(snapshot.EncodeOp(after).Value) {
		return fmt.Errorf("%w: an entry changes op %d, but it may only mark the op as undone, once", objstore.ErrCorrupt, after.Number)
	}
	return nil
}

// first checks the ops of the first own entry of a run: the entry has no op, or only the fork op of a fork.
func (o *opsVerifier) first(first *link) error {
	if o.tip == nil {
		o.tip = first.entry
	}
	ops, err := first.entry.Ops()
	if err != nil {
		return err
	}
	for row, err := range ops.Rows() {
		if err != nil {
			return fmt.Errorf("ops: %w", err)
		}
		op, err := snapshot.DecodeOp(row)
		if err != nil {
			return err
		}
		if op.Kind != snapshot.OpFork || op.Number != 1 || first.row.Parent == nil {
			return fmt.Errorf("%w: the run's first entry has op %d of kind %s, but only a fork may have an op there: op 1 of kind fork", objstore.ErrCorrupt, op.Number, op.Kind)
		}
		if err := o.add(op, first); err != nil {
			return err
		}
	}
	return nil
}

// turn checks the ops of a fork after its first own entry was read. From then on, o checks the ops of the run that
// the fork extends. tip is the newest entry of that run.
func (o *opsVerifier) turn(tip *snapshot.Entry) error {
	err := o.check(o.tip)
	o.tip, o.made, o.extension = tip, make(map[int]int), true
	return err
}

// check checks all ops at tip, the newest entry of the chain, against each other and against the recorded
// entries. In an extension, check ignores tip and checks the ops of the extended run.
func (o *opsVerifier) check(tip *snapshot.Entry) error {
	if o.extension {
		tip = o.tip
	}
	ops, err := timeline.OpsAt(tip)
	if err != nil {
		return nil //nolint:nilerr // the check of the entry that added the invalid row reports it
	}
	for i, op := range ops {
		if op.Number != i+1 {
			return fmt.Errorf("%w: the run has %d ops, but op %d is missing", objstore.ErrCorrupt, len(ops), i+1)
		}
	}
	for _, op := range ops {
		if flaw := disagreement(op, ops); flaw != "" {
			return fmt.Errorf("%w: %s", objstore.ErrCorrupt, flaw)
		}
		if err := o.madeAfter(op); err != nil {
			return err
		}
	}
	return nil
}

// disagreement compares op with the op that it undoes and with the op that undid it. It returns "" if all three agree,
// and otherwise a sentence that describes the disagreement. ops[n-1] is op n. DecodeOp has checked that op.Undoes is
// below op.Number.
func disagreement(op snapshot.Op, ops []snapshot.Op) string {
	if op.Undoes != 0 {
		switch undone := ops[op.Undoes-1]; {
		case undone.Kind == snapshot.OpUndo:
			return fmt.Sprintf("op %d undoes op %d, which is an undo", op.Number, op.Undoes)
		case undone.UndoneBy != op.Number:
			return fmt.Sprintf("op %d undoes op %d, but op %d is not marked as undone by op %d", op.Number, op.Undoes, op.Undoes, op.Number)
		}
	}
	if op.UndoneBy != 0 && (op.UndoneBy > len(ops) || ops[op.UndoneBy-1].Undoes != op.Number) {
		return fmt.Sprintf("op %d is marked as undone by op %d, which does not undo it", op.Number, op.UndoneBy)
	}
	return ""
}

// madeAfter returns an error unless op.Before, the tip before op, is older than the entry that added op. It
// accepts an op without Before, such as the op of a fork, and an op whose entry was not read.
func (o *opsVerifier) madeAfter(op snapshot.Op) error {
	made, known := o.made[op.Number]
	if op.Before.IsZero() || !known {
		return nil
	}
	if place, ok := o.place[op.Before]; !ok || place <= made {
		return fmt.Errorf("%w: op %d was made on %v, which is not an earlier entry", objstore.ErrCorrupt, op.Number, op.Before)
	}
	return nil
}
