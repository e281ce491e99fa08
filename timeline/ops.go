package timeline

import (
	"cmp"
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/snapshot"
)

// OpsOf returns the ops of a run, oldest first. run is the run's id or a unique prefix of the id. The result is
// never nil, except with an error.
func OpsOf(ctx context.Context, s *Store, run string) ([]snapshot.Op, error) {
	_, tip, err := s.FindRun(ctx, run, ToRead)
	if err != nil {
		return nil, err
	}
	entry, err := snapshot.ReadEntry(s.objects, tip)
	if err != nil {
		return nil, Explain(err)
	}
	ops, err := OpsAt(entry)
	return ops, Explain(err)
}

// OpsAt returns the run's ops at an entry, sorted by number. The result is never nil, except with an error.
func OpsAt(entry *snapshot.Entry) ([]snapshot.Op, error) {
	rows, err := entry.Ops()
	if err != nil {
		return nil, err
	}
	ops := make([]snapshot.Op, 0, rows.Len())
	for row, err := range rows.Rows() {
		if err != nil {
			return nil, err
		}
		op, err := snapshot.DecodeOp(row)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b snapshot.Op) int { return cmp.Compare(a.Number, b.Number) })
	return ops, nil
}

// AddOp adds an op to draft, the draft of the next entry, and notes the op in the list of ops that were done in
// this clone; see [Store.Here]. It returns the op after it has set these members: Number to the next number, AtMs
// to the draft's time, and Before to the tip that h knows. If the draft is a frame, AddOp also sets Frame to the
// number of the frame.
func (h *Head) AddOp(draft *snapshot.Draft, op snapshot.Op) (snapshot.Op, error) {
	rows, err := h.entry.Ops()
	if err != nil {
		return op, err
	}
	op.Number, op.AtMs, op.Before = rows.Len()+1, draft.AtMs, h.entry.ID
	if draft.Frame != nil {
		op.Frame = new(h.row.Frame + 1)
	}
	draft.Journal = append(draft.Journal, SetOp(op))
	h.store.Here().Op(h.row.ID, op)
	return op, nil
}

// SetOp returns the change that stores an op in the journal.
func SetOp(op snapshot.Op) snapshot.Change {
	row := snapshot.EncodeOp(op)
	return snapshot.Change{Op: snapshot.OpSet, Collection: snapshot.CollectionOps, Key: row.Key, Value: row.Value}
}
