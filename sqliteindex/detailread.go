package sqliteindex

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// detail holds the detail rows of one run that the index lacks: the changes after the indexed entry. If the
// chain does not contain the indexed entry, detail holds all rows of the run.
type detail struct {
	runID    string
	workflow string // the workflow's name
	tip      *snapshot.Entry
	whole    bool // the rows replace all indexed details of the run

	events    []EventRow // newest entry first; in order within an entry
	nodeIDs   []string   // the node of each event; "" if the event has no node
	nodes     []timedRow[snapshot.Node]
	loops     []timedRow[snapshot.Loop]
	approvals []rowDelta[snapshot.Approval]
	humans    []rowDelta[snapshot.HumanRequest]
	signals   []rowDelta[snapshot.Signal]
	waits     []rowDelta[snapshot.Wait]
	ops       []opRow
	calls     []rowDelta[snapshot.ToolCall]
	scores    []rowDelta[snapshot.Score]
	sandboxes []page.Row // all of Smithers' own
	input     inputDelta
	hashes    []frameHash              // newest frame first
	workflows []objstore.ID            // every definition along the chain, including the parents'; sorted
	declared  map[string]columns.List  // the columns of each schema key
	outputs   map[string][]outputDelta // the changed outputs of each schema key
}

// timedRow is a changed row with the time of the entry that changed it last, in Unix milliseconds.
type timedRow[T any] struct {
	key  string
	row  *T // nil means removed
	atMs int64
}

// rowDelta is a changed row. from is nil for an added row; to is nil for a removed row.
type rowDelta[T any] struct{ from, to *T }

// inputDelta is a change of the input. If changed is true and text is nil, the input was removed.
type inputDelta struct {
	changed bool
	text    []byte
}

// outputDelta is a changed output. A nil value means that the output was removed.
type outputDelta struct {
	nodeID    string
	iteration int
	value     []byte
}

// detailReader reads the details of one run. nodes, loops and known collect the changed nodes, the changed loops and
// the workflow definitions.
type detailReader struct {
	r       objstore.Reader
	schemas *columns.Cache
	detail  *detail
	from    *snapshot.Entry // the indexed entry; nil before the walk reaches it, or if the chain does not contain it
	nodes   timedValues
	loops   timedValues
	known   workflowSet
	hashes  hashReader
}

// readDetail reads the new details of the run in b. It reads the entries from the tip back to the indexed entry
// b.from. If the chain does not contain b.from, readDetail reads the whole chain.
func readDetail(ctx context.Context, r objstore.Reader, schemas *columns.Cache, b behind) (*detail, error) {
	tip, err := snapshot.ReadEntry(r, b.tip)
	if err != nil {
		return nil, err
	}
	run, err := tip.RunRow()
	if err != nil {
		return nil, err
	}
	d := &detail{runID: b.runID, workflow: run.Workflow, tip: tip}
	reader := detailReader{r: r, schemas: schemas, detail: d, nodes: timedValues{}, loops: timedValues{}, known: workflowSet{}, hashes: hashReader{}}
	if err := reader.walk(ctx, b); err != nil {
		return nil, err
	}
	d.workflows = reader.known.sorted()
	if d.nodes, err = timedRows(reader.nodes, snapshot.DecodeNode); err != nil {
		return nil, err
	}
	if d.loops, err = timedRows(reader.loops, snapshot.DecodeLoop); err != nil {
		return nil, err
	}
	return d, reader.ends()
}

// walk reads the run's entries, newest first, from the tip back to b.from or to the run's first entry. If several
// entries change a row, walk keeps only the newest change. If it reaches b.from, walk sets d.from. If it reaches the
// run's first entry, walk sets d.detail.whole. For a fork, it then also adds the definitions of the entries before the
// fork, and the workflow hash of the fork's frame 0.
func (d *detailReader) walk(ctx context.Context, b behind) error {
	entries := snapshot.NewWalk(d.r, d.detail.tip)
	e, err := entries.Next()
	if err != nil {
		return err
	}
	rows, err := readCore(e)
	if err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := d.takeEntry(e); err != nil {
			return err
		}
		parent, err := entries.Next()
		if err != nil {
			return err
		}
		if parent == nil { // e is the run's first entry: all its rows are new
			d.detail.whole = true
			if err := d.takeRows(core{}, rows, e.AtMs); err != nil {
				return err
			}
			if err := d.takeHash(entries.Forked(), 0); err != nil {
				return err
			}
			return d.known.addChain(ctx, d.r, entries.Forked())
		}
		before, err := readCore(parent)
		if err != nil {
			return err
		}
		if err := d.takeRows(before, rows, e.AtMs); err != nil {
			return err
		}
		if parent.ID == b.from {
			d.from = parent
			d.known.addAll(b.workflows)
			return nil
		}
		e, rows = parent, before
	}
}

// parentOf returns the entry before e, or nil if e is the first entry of its chain.
func parentOf(r objstore.Reader, e *snapshot.Entry) (*snapshot.Entry, error) {
	if e.Parent.IsZero() {
		return nil, nil
	}
	return snapshot.ReadEntry(r, e.Parent)
}

// takeEntry adds the workflow definition of an entry to d.known, and its workflow hash and its events to
// d.detail.
func (d *detailReader) takeEntry(e *snapshot.Entry) error {
	if err := d.known.add(e); err != nil {
		return err
	}
	if err := d.takeHash(e, e.Frame); err != nil {
		return err
	}
	return d.takeEvents(e)
}

// takeEvents appends the events of an entry, in reverse order, to d.detail.events, and their nodes to
// d.detail.nodeIDs.
func (d *detailReader) takeEvents(e *snapshot.Entry) error {
	events, err := e.Events()
	if err != nil {
		return err
	}
	for _, event := range slices.Backward(events) {
		row, node, err := eventRow(d.detail.runID, event)
		if err != nil {
			return malformed(e.ID, "events: "+err.Error())
		}
		d.detail.events = append(d.detail.events, row)
		d.detail.nodeIDs = append(d.detail.nodeIDs, node)
	}
	return nil
}

// takeRows adds to d.nodes and d.loops the rows that differ between two consecutive entries, with the time atMs. The
// core before belongs to the older entry, and the core after to the newer entry. takeRows skips a row that a newer
// entry changed.
func (d *detailReader) takeRows(before, after core, atMs int64) error {
	if err := d.nodes.diff(d.r, before.nodes, after.nodes, atMs); err != nil {
		return err
	}
	return d.loops.diff(d.r, before.loops, after.loops, atMs)
}

// core holds the ids of the collections of nodes and loops. The index rows of both have the time of their last change.
type core struct{ nodes, loops objstore.ID }

// readCore returns the core of an entry. It reads only the entry's tree. The id of a collection without rows is
// zero.
func readCore(e *snapshot.Entry) (c core, err error) {
	if c.nodes, err = e.CollectionID(snapshot.CollectionNodes); err == nil {
		c.loops, err = e.CollectionID(snapshot.CollectionLoops)
	}
	return c, err
}

// timedValues holds changed rows by key, each with its newest value.
type timedValues map[string]timedValue

// timedValue is the newest value of a changed row.
type timedValue struct {
	value []byte // nil means that the row was removed
	atMs  int64  // the time of the entry that made the change, in Unix milliseconds
}

// diff adds to t the rows that differ between two collections, with the time atMs. The parameters before and after are
// the ids of the older and of the newer collection. diff skips a row that t already has, because a newer entry changed
// that row.
func (t timedValues) diff(r objstore.Reader, before, after objstore.ID, atMs int64) error {
	if before == after {
		return nil
	}
	a, err := page.Open(r, before)
	if err != nil {
		return err
	}
	b, err := page.Open(r, after)
	if err != nil {
		return err
	}
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		if _, newer := t[delta.Key]; !newer {
			t[delta.Key] = timedValue{delta.To, atMs}
		}
	}
	return nil
}

// timedRows returns the rows of t, decoded, in no particular order. For a removed row, the member row of the result is
// nil.
func timedRows[T any](t timedValues, decode func(page.Row) (T, error)) ([]timedRow[T], error) {
	rows := make([]timedRow[T], 0, len(t))
	for key, v := range t {
		row := timedRow[T]{key: key, atMs: v.atMs}
		if v.value != nil {
			decoded, err := decode(page.Row{Key: key, Value: v.value})
			if err != nil {
				return nil, err
			}
			row.row = &decoded
		}
		rows = append(rows, row)
	}
	return rows, nil
}
