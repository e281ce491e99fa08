package sqliteindex

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// ends reads the new details for which it compares only the indexed entry and the tip: the mailbox, ops, tool calls, scores,
// input and outputs. It also reads Smithers' sandboxes at the tip. It also reads the columns of the output tables. It stores all of them in d.detail. Without an indexed entry,
// all rows of the tip are new.
func (d *detailReader) ends() error {
	before, opsBefore := snapshot.EmptyState(), (*page.Collection)(nil)
	if d.from != nil {
		var err error
		if before, err = d.from.State(); err != nil {
			return err
		}
		if opsBefore, err = d.from.Ops(); err != nil {
			return err
		}
	}
	after, err := d.detail.tip.State()
	if err != nil {
		return err
	}
	if err := d.mailbox(before, after); err != nil {
		return err
	}
	if err := d.readOps(opsBefore); err != nil {
		return err
	}
	if d.detail.calls, err = journalDeltas(d, (*snapshot.Entry).ToolCalls, snapshot.DecodeToolCall); err != nil {
		return err
	}
	if d.detail.scores, err = journalDeltas(d, (*snapshot.Entry).Scores, snapshot.DecodeScore); err != nil {
		return err
	}
	if d.detail.sandboxes, err = peerSandboxRows(d.detail.tip); err != nil {
		return err
	}
	if before.InputID() != after.InputID() {
		text, err := after.Input()
		if err != nil {
			return err
		}
		d.detail.input = inputDelta{true, text}
	}
	if err := d.readOutputs(before, after); err != nil {
		return err
	}
	d.detail.declared, err = d.schemas.Declared(d.r, d.detail.workflows, d.detail.tip, after)
	return err
}

// mailbox reads into d.detail the approvals, human requests, signals and waits that differ between the states
// before and after.
func (d *detailReader) mailbox(before, after *snapshot.State) (err error) {
	out := d.detail
	if out.approvals, err = rowDeltas(before.Approvals(), after.Approvals(), snapshot.DecodeApproval); err != nil {
		return err
	}
	if out.humans, err = rowDeltas(before.HumanRequests(), after.HumanRequests(), snapshot.DecodeHumanRequest); err != nil {
		return err
	}
	if out.signals, err = rowDeltas(before.Signals(), after.Signals(), snapshot.DecodeSignal); err != nil {
		return err
	}
	out.waits, err = rowDeltas(before.Waits(), after.Waits(), snapshot.DecodeWait)
	return err
}

// rowDeltas returns the rows that differ between two collections, sorted by key. Each delta has the decoded row of
// both collections, or nil if the collection lacks the row.
func rowDeltas[T any](before, after *page.Collection, decode func(page.Row) (T, error)) ([]rowDelta[T], error) {
	var deltas []rowDelta[T]
	for delta, err := range page.Diff(before, after) {
		if err != nil {
			return nil, err
		}
		var d rowDelta[T]
		if d.from, err = decodeSide(delta.Key, delta.From, decode); err != nil {
			return nil, err
		}
		if d.to, err = decodeSide(delta.Key, delta.To, decode); err != nil {
			return nil, err
		}
		deltas = append(deltas, d)
	}
	return deltas, nil
}

// decodeSide decodes value, one side of the changed row with this key. It returns nil if value is nil: the
// row is missing on this side.
func decodeSide[T any](key string, value []byte, decode func(page.Row) (T, error)) (*T, error) {
	if value == nil {
		return nil, nil
	}
	row, err := decode(page.Row{Key: key, Value: value})
	return &row, err
}

// opRow is an op with the number of the newest frame that the run had before the op. from is nil if frameAt finds no
// such frame.
type opRow struct {
	snapshot.Op

	from *int64
}

// readOps appends the new and changed ops to d.detail.ops, each with the number of the frame before the op. The
// parameter before holds the ops of the indexed entry; nil means that no entry is indexed. A missing op is an error,
// because ops are never removed.
func (d *detailReader) readOps(before *page.Collection) error {
	after, err := d.detail.tip.Ops()
	if err != nil {
		return err
	}
	if before == nil {
		if before, err = page.Open(d.r, objstore.ID{}); err != nil {
			return err
		}
	}
	deltas, err := rowDeltas(before, after, snapshot.DecodeOp)
	if err != nil {
		return err
	}
	for _, delta := range deltas {
		if delta.to == nil {
			return malformed(d.detail.tip.ID, "an op is missing from the journal")
		}
		from, err := d.frameAt(delta.to.Before)
		if err != nil {
			return err
		}
		d.detail.ops = append(d.detail.ops, opRow{*delta.to, from})
	}
	return nil
}

// journalDeltas returns the new and changed rows of a collection of the journal, which of returns. Without an indexed entry, all rows
// of the tip are new.
func journalDeltas[T any](
	d *detailReader, of func(*snapshot.Entry) (*page.Collection, error), decode func(page.Row) (T, error),
) ([]rowDelta[T], error) {
	after, err := of(d.detail.tip)
	if err != nil {
		return nil, err
	}
	var before *page.Collection
	if d.from != nil {
		before, err = of(d.from)
	} else {
		before, err = page.Open(d.r, objstore.ID{})
	}
	if err != nil {
		return nil, err
	}
	return rowDeltas(before, after, decode)
}

// frameAt returns the number of the newest frame that the run had at the entry with the given id. It returns nil for
// the zero id, for an entry of another run, and for an entry that is missing, corrupt or of a newer format. An
// unreadable entry is not an error, so that the op stays in the index, without the number.
func (d *detailReader) frameAt(id objstore.ID) (*int64, error) {
	if id.IsZero() {
		return nil, nil
	}
	var run snapshot.Run
	entry, err := snapshot.ReadEntry(d.r, id)
	if err == nil {
		run, err = entry.RunRow()
	}
	switch {
	case errors.Is(err, objstore.ErrCorrupt), errors.Is(err, objstore.ErrNotFound), errors.Is(err, snapshot.ErrNewerFormat):
		return nil, nil
	case err != nil || run.ID != d.detail.runID:
		return nil, err
	}
	return &run.Frame, nil
}

// readOutputs sets d.detail.outputs to the outputs that differ between the two states. The keys of d.detail.outputs
// are the schema keys of the output tables.
func (d *detailReader) readOutputs(before, after *snapshot.State) error {
	d.detail.outputs = make(map[string][]outputDelta)
	tables := slices.Concat(before.Tables(), after.Tables())
	slices.Sort(tables)
	for _, table := range slices.Compact(tables) {
		for delta, err := range page.Diff(before.Outputs(table), after.Outputs(table)) {
			if err != nil {
				return err
			}
			output, err := newOutputDelta(delta.Key, delta.To)
			if err != nil {
				return err
			}
			d.detail.outputs[table] = append(d.detail.outputs[table], output)
		}
	}
	return nil
}

// newOutputDelta returns the change of one output. key is the output's key in its collection, and value the new
// value; nil means that the output was removed. If key is invalid, the error wraps objstore.ErrCorrupt.
func newOutputDelta(key string, value []byte) (outputDelta, error) {
	nodeID, iteration, err := snapshot.SplitKey(key)
	if err != nil {
		return outputDelta{}, malformed(objstore.ID{}, "output: "+err.Error())
	}
	return outputDelta{nodeID, iteration, value}, nil
}

// workflowSet is a set of workflow definitions, by the ids of their trees.
type workflowSet map[objstore.ID]struct{}

// add adds the workflow definition of e. It does nothing if e has none.
func (w workflowSet) add(e *snapshot.Entry) error {
	id, err := e.WorkflowID()
	if err == nil && !id.IsZero() {
		w[id] = struct{}{}
	}
	return err
}

// addAll adds the workflow definitions with the given tree ids.
func (w workflowSet) addAll(ids []objstore.ID) {
	for _, id := range ids {
		w[id] = struct{}{}
	}
}

// sorted returns the ids of all definitions in w, sorted.
func (w workflowSet) sorted() []objstore.ID {
	return slices.SortedFunc(maps.Keys(w), objstore.ID.Compare)
}

// addChain adds the workflow definitions of e and of all entries before e, because the run's outputs may be as old as
// these entries. It does nothing if e is nil.
func (w workflowSet) addChain(ctx context.Context, r objstore.Reader, e *snapshot.Entry) (err error) {
	for e != nil && err == nil {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := w.add(e); err != nil {
			return err
		}
		e, err = parentOf(r, e)
	}
	return err
}
