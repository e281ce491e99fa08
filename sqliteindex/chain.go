package sqliteindex

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tip is the indexed state of a run's ref. Its zero value means that the ref is not indexed.
type tip struct {
	id          objstore.ID
	latestFrame int64 // number of the newest frame; snapshot.NoFrame if the run has no frame
}

// chain is the part of a run's entries that the index lacks, with the row of the run.
type chain struct {
	ref     string          // the escaped run id, which the names of the run's refs contain
	head    snapshot.Header // the header of the tip
	tip     objstore.ID
	run     snapshot.Run // run.json of the tip
	base    objstore.ID  // the indexed tip, which precedes these entries; zero if the entries are the whole run
	frames  []frame      // sorted by number
	latest  int64        // number of the run's newest frame; snapshot.NoFrame if the run has no frame
	entries int          // number of entries that were read

	attempts []snapshot.Attempt // attempts that are new or changed since base
	tags     tagReader
}

// frame is an entry with a frame number.
type frame struct {
	number int64
	commit objstore.ID
	snapshot.Header
	tag
}

// readChain returns the chain of a run. ref is the escaped run id in the tip's ref name, and id is the run's tip.
// indexed is the tip of the run in the index. If the run's entries include the indexed tip, readChain reads only the
// entries after the indexed tip. Otherwise, it reads all entries of the run. It reads run.json and the new attempts
// from the tip. From the other entries, it reads only the commits, and vcs.json if it changed. If the tip belongs to
// another run, the error wraps objstore.ErrCorrupt.
func readChain(ctx context.Context, r objstore.Reader, ref string, id objstore.ID, indexed tip) (*chain, error) {
	head, err := snapshot.ReadEntry(r, id)
	if err != nil {
		return nil, err
	}
	run, err := head.RunRow()
	if err != nil {
		return nil, err
	}
	// Two refs for one run would overwrite each other's rows.
	if component, err := refs.EscapeRun(run.ID); err != nil || component != ref {
		return nil, malformed(id, "belongs to another run than its ref")
	}
	c := &chain{ref: ref, head: head.Header, tip: id, run: run, latest: snapshot.NoFrame}
	if err := c.walk(ctx, r, head, indexed); err != nil {
		return nil, err
	}
	slices.Reverse(c.frames)
	if c.attempts, err = readAttempts(r, head, c.base); err != nil {
		return nil, err
	}
	return c, nil
}

// walk reads the entries from head back to the entry after the indexed tip or, if the run does not contain the indexed
// tip, to the run's first entry. It appends the frames among these entries to c.frames, newest first, and sets
// c.entries and c.latest. If it ends at the indexed tip, it sets c.base. If it ends at the first entry of a fork, it
// also appends the fork's frame 0.
func (c *chain) walk(ctx context.Context, r objstore.Reader, head *snapshot.Entry, indexed tip) error {
	var first *snapshot.Entry // the oldest entry read so far
	entries := snapshot.NewWalk(r, head)
	for {
		// head is already in memory, so the walk yields it even if ctx has ended.
		if err := ctx.Err(); err != nil && first != nil {
			return context.Cause(ctx)
		}
		e, err := entries.Next()
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		c.entries++
		if err := c.add(e.Frame, e); err != nil {
			return err
		}
		if !e.Parent.IsZero() && e.Parent == indexed.id {
			return c.join(indexed)
		}
		first = e
	}
	if point := entries.Forked(); point != nil {
		return c.fork(first, point)
	}
	return nil
}

// add appends e to c.frames as the frame with the given number, with its tag, and raises c.latest to the number. If
// number is snapshot.NoFrame, add does nothing. The frames must come newest first: if number is not less than the
// number of the last appended frame, the error wraps objstore.ErrCorrupt.
func (c *chain) add(number int64, e *snapshot.Entry) error {
	if number == snapshot.NoFrame {
		return nil
	}
	if n := len(c.frames); n > 0 && c.frames[n-1].number <= number {
		return malformed(e.ID, "frame numbers do not rise along the chain")
	}
	tag, err := c.tags.of(e)
	if err != nil {
		return err
	}
	c.frames = append(c.frames, frame{number: number, commit: e.ID, Header: e.Header, tag: tag})
	c.latest = max(c.latest, number)
	return nil
}

// join ends the walk at the indexed tip: it sets c.base, and raises c.latest to the newest indexed frame. If the number
// of a new frame is not greater than the number of the newest indexed frame, the error wraps objstore.ErrCorrupt.
func (c *chain) join(indexed tip) error {
	if n := len(c.frames); n > 0 && c.frames[n-1].number <= indexed.latestFrame {
		return malformed(c.frames[n-1].commit, "frame numbers do not rise along the chain")
	}
	c.base = indexed.id
	c.latest = max(c.latest, indexed.latestFrame)
	return nil
}

// fork ends the walk at the beginning of a fork. The entry first is the oldest entry of the walk, and the entry point
// is the parent's entry before first. fork appends point to c.frames as the fork's frame 0. But if first is a frame and
// not a view, first itself is frame 0, and fork appends nothing. If run.json names no parent, the error wraps
// objstore.ErrCorrupt.
func (c *chain) fork(first, point *snapshot.Entry) error {
	if c.run.Parent == nil {
		return malformed(c.tip, "run.json names no parent, but the chain continues the chain of another run")
	}
	if first.Frame != snapshot.NoFrame && !first.IsView() {
		return nil
	}
	if err := c.add(0, point); err != nil {
		return err
	}
	c.frames[len(c.frames)-1].Based = nil // Based is a frame number of the parent, not of the fork
	return nil
}

// malformed returns the error for an object with unusable content. reason completes a sentence that begins with
// the object id. The error wraps objstore.ErrCorrupt.
func malformed(id objstore.ID, reason string) error {
	return &objstore.CorruptError{ID: id, Reason: reason}
}
