package timeline

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// frameWithID finds the newest frame with the id on the line of a run. tip is the run's tip. frameWithID returns
// the frame's address and the tip of the run in this address, which may be an ancestor of the run. If purpose is
// ToChange, the frame must be the run's own. Code: frame_not_found.
//
// The line is the run's timeline from the newest frame back. For a fork, the line continues after the fork's first
// frame in the parent's timeline, from the frame that was forked. Frames that were dropped from these timelines
// are not part of the line.
func frameWithID(ctx context.Context, s *Store, run string, tip objstore.ID, id string, purpose Purpose) (Address, objstore.ID, error) {
	newest, row, err := readTip(ctx, s, tip)
	if err != nil {
		return Address{}, objstore.ID{}, err
	}
	search := idSearch{store: s, id: id, seen: make(map[string]bool)}
	at := &linePart{run: row, tip: tip, from: newest, frame: row.Frame}
	for at != nil {
		frame, err := search.in(ctx, at)
		switch {
		case err != nil:
			return Address{}, objstore.ID{}, err
		case frame != snapshot.NoFrame && at.run.ID != run && purpose == ToChange:
			return Address{}, objstore.ID{}, search.ofAncestor(run, Address{at.run.ID, frame})
		case frame != snapshot.NoFrame:
			return Address{at.run.ID, frame}, at.tip, nil
		}
		if at, err = search.parent(ctx, at.run); err != nil {
			return Address{}, objstore.ID{}, err
		}
	}
	return Address{}, objstore.ID{}, search.notFound(run)
}

// idSearch is the search for a frame with an id on the line of a run.
type idSearch struct {
	store   *Store
	id      string
	seen    map[string]bool // the runs searched so far, so that the search ends if a forged history has a cycle
	dropped *Address        // the newest dropped frame that has the id; nil if none was found
	// lost is the parent whose frame this repository lacks, so that the line ends there; nil if the line is complete.
	lost *snapshot.Parent
}

// linePart is the part of a line that lies in one run: the timeline from a frame back.
type linePart struct {
	run   snapshot.Run    // the run's row at the tip
	tip   objstore.ID     // the run's tip
	from  *snapshot.Entry // an entry of the run's chain at or after the frame, or the parent run's entry that is frame 0
	frame int64           // the newest frame of the part
}

// in returns the number of the newest frame in part, a part of the line, that has the id and is not dropped. If
// there is no such frame, it returns snapshot.NoFrame. It first reads the nearFrames newest entries of the chain,
// and then asks the index. If the index does not help, it reads the rest of the chain.
func (q *idSearch) in(ctx context.Context, part *linePart) (int64, error) {
	q.seen[part.run.ID] = true
	if part.from.Run != part.run.ID { // frame 0 is an entry of the parent run
		return q.visit(part.run.ID, part.from, 0, 0), nil
	}
	reached := part.frame // the newest frame of the timeline that the walk has not passed
	zero := false         // the walk has passed frame 0
	walk := snapshot.NewWalk(q.store.objects, part.from)
	for read := 0; ; read++ {
		if read == nearFrames {
			if frame, ok := q.indexed(ctx, part); ok {
				return frame, nil
			}
		}
		entry, err := walk.Next()
		switch {
		case err != nil:
			return snapshot.NoFrame, Explain(err)
		case ctx.Err() != nil:
			return snapshot.NoFrame, Explain(ctx.Err())
		case entry == nil:
			if forked := walk.Forked(); forked != nil && !zero { // frame 0 is the parent run's
				return q.visit(part.run.ID, forked, 0, reached), nil
			}
			return snapshot.NoFrame, nil
		case entry.Frame == snapshot.NoFrame || entry.Frame > part.frame:
			continue
		}
		if frame := q.visit(part.run.ID, entry, entry.Frame, reached); frame != snapshot.NoFrame {
			return frame, nil
		}
		zero = entry.Frame == 0
		// The timeline continues with the frame on which this frame is based. A dropped frame does not count.
		switch {
		case entry.Frame > reached:
		case entry.Based != nil:
			reached = *entry.Based
		default:
			reached = entry.Frame - 1
		}
	}
}

// visit checks whether a frame of a run has the id. entry is the frame's entry, and frame is its number in the
// run. A frame is part of the timeline if its number is not above reached. If the frame has the id and is part of
// the timeline, visit returns frame. Otherwise visit returns snapshot.NoFrame; it notes a frame that has the id
// but was dropped.
func (q *idSearch) visit(run string, entry *snapshot.Entry, frame, reached int64) int64 {
	switch {
	case !slices.Contains(entry.IDs, q.id):
	case frame <= reached:
		return frame
	default:
		q.note(run, frame)
	}
	return snapshot.NoFrame
}

// note sets q.dropped to the address of a dropped frame that has the id. If q.dropped is already set, or frame is
// snapshot.NoFrame, note does nothing.
func (q *idSearch) note(run string, frame int64) {
	if q.dropped == nil && frame != snapshot.NoFrame {
		q.dropped = &Address{run, frame}
	}
}

// indexed finds the same frame as [idSearch.in], but uses only the index. If the part has no such frame, frame is
// snapshot.NoFrame. ok is false if the index is unusable, is not at the run's tip, or disagrees with the frame's
// commit.
func (q *idSearch) indexed(ctx context.Context, part *linePart) (frame int64, ok bool) {
	run := part.run.ID
	index, err := q.store.index.opened(ctx, q.store.IndexOptions(), func(x *sqliteindex.Index, ctx context.Context) error { return x.SyncRun(ctx, run) })
	if err != nil || index.Degraded() != nil {
		return snapshot.NoFrame, false
	}
	known, ok, err := index.Run(ctx, run)
	if err != nil || !ok || known.Tip != part.tip {
		return snapshot.NoFrame, false
	}
	frame, dropped, err := index.FrameWithID(ctx, run, q.id, part.frame)
	if err != nil {
		return snapshot.NoFrame, false
	}
	if frame != snapshot.NoFrame {
		row, ok, err := index.Frame(ctx, run, frame)
		if err != nil || !ok {
			return snapshot.NoFrame, false
		}
		entry, err := snapshot.ReadEntry(q.store.objects, row.Commit)
		if err != nil || !slices.Contains(entry.IDs, q.id) {
			return snapshot.NoFrame, false
		}
	}
	q.note(run, dropped)
	return frame, true
}

// parent returns the part of the line that follows the run: the timeline of the parent, from the frame that was
// forked. It returns nil if the run is not a fork, or if the parent was searched before. If this repository lacks
// the parent's frame, parent returns nil and sets q.lost.
func (q *idSearch) parent(ctx context.Context, run snapshot.Run) (*linePart, error) {
	if run.Parent == nil {
		return nil, nil //nolint:nilnil // the line ends
	}
	part, err := q.partAt(ctx, Address{run.Parent.RunID, run.Parent.Frame}, run.Parent.Commit)
	if part == nil && err == nil {
		// A split may have moved the frame to a fork of the parent. The index knows the fork.
		if moved, ok := q.moved(ctx, run.ID); ok {
			part, err = q.partAt(ctx, moved, run.Parent.Commit)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case part == nil:
		q.lost = run.Parent
	case q.seen[part.run.ID]:
		return nil, nil //nolint:nilnil // a run cannot descend from itself
	}
	return part, nil
}

// partAt returns the part of the line whose newest frame has the address at. commit is the commit that the frame
// must have. If no such frame exists, or the frame has another commit, partAt returns nil and no error.
func (q *idSearch) partAt(ctx context.Context, at Address, commit objstore.ID) (*linePart, error) {
	_, tip, err := q.store.FindRunExactly(ctx, at.Run)
	if err != nil {
		return nil, absent(err)
	}
	from, err := q.store.LoadFrame(ctx, at, tip)
	if err != nil {
		return nil, absent(err)
	}
	if from.Entry.ID != commit {
		return nil, nil //nolint:nilnil // another history has the id
	}
	_, row, err := readTip(ctx, q.store, tip)
	return &linePart{row, tip, from.Entry, at.Frame}, err
}

// absent returns nil for the error that a run or a frame does not exist, and any other error unchanged.
func absent(err error) error {
	if code := fault.CodeOf(err); code == fault.RunNotFound || code == fault.FrameNotFound {
		return nil
	}
	return err
}

// moved looks in the index for the frame from which a run was forked, and returns the address of this frame. The
// address may differ from the address in the run's row. The bool is false if the index is unusable or does not
// know the frame.
func (q *idSearch) moved(ctx context.Context, run string) (Address, bool) {
	index, err := q.store.Index(ctx)
	if err != nil {
		return Address{}, false
	}
	row, ok, err := index.Run(ctx, run)
	if err != nil || !ok || row.ParentRunID == nil || row.ParentFrameNo == nil {
		return Address{}, false
	}
	return Address{*row.ParentRunID, *row.ParentFrameNo}, true
}

// ofAncestor returns frame_not_found for a caller that wants to change run: only a frame of an ancestor has the
// id. at is the address of this frame.
func (q *idSearch) ofAncestor(run string, at Address) error {
	return fault.New(fault.FrameNotFound, "run %q has no frame of its own with the id %q: the frame %s, from before the fork, has the id", run, q.id, at).
		Hint("`git smithers fork %s` continues from that frame in a new run", fault.Word(at.String())).
		Detail("runId", run).Detail("id", q.id).Detail("has", at.String())
}

// notFound returns frame_not_found for an id that no frame of the run's line has, with hints about dropped or
// lost frames.
func (q *idSearch) notFound(run string) error {
	out := fault.New(fault.FrameNotFound, "run %q has no frame with the id %q", run, q.id).Detail("runId", run).Detail("id", q.id)
	if q.dropped != nil {
		out = out.Hint("the frame %s has the id, but a later frame dropped it: `git smithers show %s` shows the dropped frame",
			q.dropped, fault.Word(q.dropped.String())).Detail("dropped", q.dropped.String())
	}
	if q.lost != nil {
		out = out.Hint("the frames from before the fork belong to run %q, which is not in this repository", q.lost.RunID)
	}
	return out.Hint("`git smithers timeline %s --json` lists the frames and their ids", fault.Word(run))
}
