package sqliteindex

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/sqliteindex/columns"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// runRows holds the rows of a run that the index lacks: those after the indexed entry base, or all rows.
type runRows struct {
	ref       string // the escaped run id, which the names of the run's refs contain
	tip       objstore.ID
	run       snapshot.Run // run.json of the tip
	base      objstore.ID  // the indexed tip; zero if these are all rows of the run
	entries   int          // number of entries that were read
	frames    int          // number of frames among them
	stepsOver bool         // a frame among them does not continue the frame before it
	size      int          // approximate number of rows

	gone, set []rowChange
	declared  map[string]declaration   // the declarations of output tables, by schema key
	outputs   map[string][]outputDelta // the changed outputs of each schema key
}

// rowChange is a changed row of a table. If the row is removed, values are those that it had.
type rowChange struct {
	table  string
	values []any
}

// add adds a new or changed row.
func (r *runRows) add(table string, values ...any) {
	r.set = append(r.set, rowChange{table, values})
	r.size++
}

// reader reads the rows of one run.
type reader struct {
	*runRows

	r           objstore.Reader
	collections []collection
	schemas     *columns.Cache // nil if only the base tables are read
	head        *snapshot.Entry
	from        *snapshot.Entry // the indexed entry; nil before the walk reaches it, or if the run does not contain it
	latest      int64           // number of the run's newest frame; snapshot.NoFrame if the run has no frame
	oldest      int64           // number of the oldest frame read so far
	tags        tagReader
	vcs         string                      // the working copy of the last frame
	seen        map[rowKey]bool             // the timed rows that were read
	opened      map[string]*page.Collection // the last version of each timed collection
	known       workflowSet
	hashes      map[objstore.ID]string // workflow hashes by the id of the definition
}

// rowKey identifies a row of a collection.
type rowKey struct{ table, key string }

// read reads the rows of the run with the ref p.ref and the tip p.id. If the run's entries include the indexed tip, read
// reads only the entries after it. Otherwise, it reads all entries of the run. If the tip belongs to another run, the
// error wraps objstore.ErrCorrupt.
func (d *reader) read(ctx context.Context, p pending) (err error) {
	d.ref, d.tip = p.ref, p.id
	if d.head, err = snapshot.ReadEntry(d.r, p.id); err != nil {
		return err
	}
	if d.run, err = d.head.RunRow(); err != nil {
		return err
	}
	// Two refs for one run would overwrite each other's rows.
	if component, err := refs.EscapeRun(d.run.ID); err != nil || component != p.ref {
		return malformed(p.id, "belongs to another run than its ref")
	}
	if err := d.walk(ctx, p.indexed); err != nil {
		return err
	}
	slices.Reverse(d.set) // the walk adds the newest rows first
	for _, c := range d.collections {
		if err := d.readCollection(c); err != nil {
			return err
		}
	}
	d.addRun()
	if d.schemas == nil {
		return nil
	}
	return d.readOutputs(p.indexed)
}

// walk reads the entries from the tip back to the entry after the indexed tip or, if the run does not contain the
// indexed tip, to the run's first entry. It adds their rows, newest first. If it ends at the indexed tip, it sets d.from
// and d.base. If it ends at the first entry of a fork, it also adds the fork's frame 0.
func (d *reader) walk(ctx context.Context, indexed tip) error {
	d.latest = snapshot.NoFrame
	entries := snapshot.NewWalk(d.r, d.head)
	if indexed.ID.IsZero() { // else few entries are new
		defer entries.Ahead(func(e *snapshot.Entry) {
			if d.schemas != nil {
				_, _ = e.VCSID() // reads the tree, which the base needs for few entries
			}
		})()
	}
	e, err := entries.Next()
	for err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := d.readEntry(e); err != nil {
			return err
		}
		before, err := entries.Next()
		if err != nil {
			return err
		}
		if err := d.readTimed(before, e); err != nil {
			return err
		}
		switch {
		case before == nil && entries.Forked() != nil:
			return d.fork(ctx, e, entries.Forked())
		case before == nil:
			return nil
		case before.ID == indexed.ID:
			return d.join(before, indexed)
		}
		e = before
	}
	return err
}

// readEntry adds the frame of an entry and, among the details, its events.
func (d *reader) readEntry(e *snapshot.Entry) error {
	d.entries++
	if err := d.addFrame(e.Frame, e, e.Based); err != nil || d.schemas == nil {
		return err
	}
	if err := d.known.add(e); err != nil {
		return err
	}
	events, err := e.Events()
	if err != nil {
		return err
	}
	for _, event := range slices.Backward(events) {
		payload, node, err := eventPayload(d.run.ID, event)
		if err != nil {
			return malformed(e.ID, "events: "+err.Error())
		}
		d.add("_smithers_events", d.run.ID, event.Seq, event.AtMs, event.Type, payload, nullable(node))
	}
	return nil
}

// workflowHashAt is the place of the workflow hash among the values of a frame. Only the details have it.
const workflowHashAt = 2

// addFrame adds e as the frame with the given number, with its ids. If number is snapshot.NoFrame, it does nothing. The
// frames must come newest first: if number is not less than the number of the last added frame, the error wraps
// objstore.ErrCorrupt.
func (d *reader) addFrame(number int64, e *snapshot.Entry, based *int64) error {
	if number == snapshot.NoFrame {
		return nil
	}
	if d.frames > 0 && d.oldest <= number {
		return malformed(e.ID, "frame numbers do not rise along the chain")
	}
	tag, err := d.tags.of(e)
	if err != nil {
		return err
	}
	hash, err := d.workflowHash(e)
	if err != nil {
		return err
	}
	for _, id := range e.IDs {
		d.add("_smithers_frame_ids", d.run.ID, number, id)
	}
	if d.vcs != e.VCS {
		d.vcs = strings.Clone(e.VCS) // a part of the commit's text, which would stay in memory with it
	}
	d.add("_smithers_snapshots", d.run.ID, number, hash, hex.EncodeToString(e.ContentHash[:]), e.AtMs, nullable(d.vcs),
		vcsRoot(d.vcs, tag.root), nullable(tag.operation), treeID(tag.tree), based, false, strings.Clone(e.Subject), e.ID.String())
	d.frames, d.oldest, d.latest = d.frames+1, number, max(d.latest, number)
	d.stepsOver = d.stepsOver || based != nil
	return nil
}

// workflowHash returns the workflow hash of an entry, or nil (NULL) if it has none or only base tables are read. Equal
// definitions have equal hashes, so it reads run.json only for a new definition, and for an entry without a definition.
func (d *reader) workflowHash(e *snapshot.Entry) (any, error) {
	if d.schemas == nil {
		return nil, nil
	}
	id, err := e.WorkflowID()
	if err != nil {
		return nil, err
	}
	if hash, ok := d.hashes[id]; ok {
		return nullable(hash), nil
	}
	run, err := e.RunRow()
	if err == nil && !id.IsZero() {
		d.hashes[id] = run.WorkflowHash
	}
	return nullable(run.WorkflowHash), err
}

// join ends the walk at the indexed tip. If the number of a new frame is not greater than the number of the newest
// indexed frame, the error wraps objstore.ErrCorrupt.
func (d *reader) join(from *snapshot.Entry, indexed tip) error {
	if d.frames > 0 && d.oldest <= indexed.LatestFrame {
		return malformed(d.tip, "frame numbers do not rise along the chain")
	}
	d.from, d.base = from, indexed.ID
	d.latest = max(d.latest, indexed.LatestFrame)
	d.known.addAll(indexed.Workflows)
	return nil
}

// fork ends the walk at the beginning of a fork. The entry first is the oldest entry of the walk, and the entry point
// is the parent's entry before first. fork adds point as the fork's frame 0. But if first is a frame and not a view,
// first itself is frame 0, and fork adds nothing. The definitions of the parents' entries are the fork's, too, because
// its outputs may be as old. If run.json names no parent, the error wraps objstore.ErrCorrupt.
func (d *reader) fork(ctx context.Context, first, point *snapshot.Entry) error {
	if d.run.Parent == nil {
		return malformed(d.tip, "run.json names no parent, but the chain continues the chain of another run")
	}
	if first.Frame == snapshot.NoFrame || first.IsView() {
		// Based is a frame number of the parent, not of the fork.
		if err := d.addFrame(0, point, nil); err != nil {
			return err
		}
	}
	if d.schemas == nil {
		return nil
	}
	return d.known.addChain(ctx, d.r, point)
}

// readTimed adds the timed rows that differ between two consecutive entries, with the time of the newer entry e. before
// is nil if e is the run's first entry.
func (d *reader) readTimed(before, e *snapshot.Entry) error {
	for _, c := range d.collections {
		if c.name == "" {
			continue
		}
		var from objstore.ID
		to, err := e.CollectionID(c.name)
		if err == nil && before != nil {
			from, err = before.CollectionID(c.name)
		}
		if err != nil {
			return err
		}
		if from == to {
			continue
		}
		now := d.opened[c.name]
		if now == nil || now.ID() != to {
			if now, err = page.Open(d.r, to); err != nil {
				return err
			}
		}
		old, err := page.Open(d.r, from)
		if err != nil {
			return err
		}
		d.opened[c.name] = old // the next step of the walk begins with it
		if err := d.diff(c, old, now, e.AtMs); err != nil {
			return err
		}
	}
	return nil
}

// readCollection adds the rows of a collection that differ between the indexed entry and the tip. Without an indexed
// entry, all rows of the tip are new. It leaves out timed rows, which readTimed has added.
func (d *reader) readCollection(c collection) error {
	if c.rows == nil {
		return nil
	}
	before, err := page.Open(d.r, objstore.ID{})
	if err == nil && d.from != nil {
		before, err = c.rows(d.from)
	}
	if err != nil {
		return err
	}
	after, err := c.rows(d.head)
	if err != nil {
		return err
	}
	return d.diff(c, before, after, 0)
}

// diff adds the rows that differ between two versions of a collection. It skips a timed row that was read before,
// because a newer entry changed that row.
func (d *reader) diff(c collection, before, after *page.Collection, atMs int64) error {
	for delta, err := range page.Diff(before, after) {
		if err != nil {
			return err
		}
		key := rowKey{c.table, delta.Key}
		if d.seen[key] {
			continue
		}
		if c.name != "" {
			d.seen[key] = true
		}
		gone, value := delta.To == nil, delta.To
		if gone {
			value = delta.From
		}
		values, err := c.values(d, page.Row{Key: delta.Key, Value: value}, atMs)
		if err != nil {
			return err
		}
		if gone {
			d.gone = append(d.gone, rowChange{c.table, values})
		} else {
			d.add(c.table, values...)
		}
	}
	return nil
}

// addRun adds the row of the run.
func (d *reader) addRun() {
	run := d.run
	var parentID, label, description any
	var parentFrame, parentCommit, extension, forkedAt any
	undone := false
	if p := run.Parent; p != nil {
		parentID, parentFrame, forkedAt, undone = p.RunID, p.Frame, p.AtMs, p.Undone
		label, description = nullable(p.Label), nullable(p.Description)
		parentCommit, extension = p.Commit.String(), treeID(p.Extension)
	}
	if c := run.Caller; c != nil && run.Parent == nil {
		parentID = c.RunID
	}
	d.add("_smithers_runs", run.ID, parentID, run.Workflow, nullable(run.WorkflowPath), nullable(run.WorkflowHash),
		string(run.Status), run.CreatedAtMs, run.StartedAtMs, run.FinishedAtMs, nullable(run.Owner), nullable(run.VCSType),
		vcsRoot(run.VCSType, run.VCSRoot), nullable(run.VCSRevision), nullable(run.Error), run.Epoch, parentFrame, parentCommit,
		extension, label, description, forkedAt, undone, d.head.AtMs, d.latest, nullable(d.head.VCS), d.ref, d.tip.String())
}

// frameAt returns the number of the newest frame that the run had at the entry with the given id. It returns nil for
// the zero id, for an entry of another run, and for an entry that is missing, corrupt or of a newer format. An
// unreadable entry is not an error, so that the op stays in the index, without the number.
func (d *reader) frameAt(id objstore.ID) (*int64, error) {
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
	case err != nil || run.ID != d.run.ID:
		return nil, err
	}
	return &run.Frame, nil
}

// malformed returns the error for an object with unusable content. reason completes a sentence that begins with
// the object id. The error wraps objstore.ErrCorrupt.
func malformed(id objstore.ID, reason string) error {
	return &objstore.CorruptError{ID: id, Reason: reason}
}

// vcsRoot returns root, the path of a working copy ("" for the repository's main working copy). It returns
// nil (NULL) if vcs is empty: the run or frame has no working copy.
func vcsRoot(vcs, root string) any {
	if vcs == "" {
		return nil
	}
	return root
}

// treeID returns an object's id as text, or nil (NULL) for the zero id.
func treeID(id objstore.ID) any {
	if id.IsZero() {
		return nil
	}
	return id.String()
}

// nullable returns s, or nil (NULL) if s is empty.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
