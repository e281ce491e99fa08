package sqliteindex

import (
	"context"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
)

// tip is the indexed state of a run's ref.
type tip struct {
	id          objstore.ID
	latestFrame int64
}

// chain is a run's entries, read from a tip back.
type chain struct {
	ref     string
	head    snapshot.Header // the tip's
	tip     objstore.ID
	run     snapshot.Run
	base    objstore.ID // the indexed tip before these entries; zero means that they are the whole run
	frames  []frame     // sorted by number
	latest  int64       // number of the newest frame; NoFrame if there is none
	entries int

	attempts []snapshot.Attempt // attempts that base does not have in this form
	tags     tagReader
}

// frame is one numbered entry.
type frame struct {
	number int64
	commit objstore.ID
	snapshot.Header
	tag
}

// readChain reads the entries of the run whose ref is at id, back to the indexed tip or, if the
// chain does not contain it, back to the run's first entry. It reads
// run.json of the tip, new attempts, and of the other entries only
// their commits, and vcs.json if it changed.
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
		return nil, malformed(id, "is the tip of another run")
	}
	c := &chain{ref: ref, head: head.Header, tip: id, run: run, latest: snapshot.NoFrame}
	if err := c.walk(ctx, r, head, indexed); err != nil {
		return nil, err
	}
	slices.Reverse(c.frames)
	c.attempts, err = readAttempts(r, head, c.base)
	return c, err
}

// walk follows the run's chain from head and collects frames, newest first.
func (c *chain) walk(ctx context.Context, r objstore.Reader, head *snapshot.Entry, indexed tip) error {
	var first *snapshot.Entry
	entries := snapshot.NewWalk(r, head)
	for {
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

// add records e as a frame if it has a number.
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

// join ends the walk at an indexed entry.
func (c *chain) join(indexed tip) error {
	if n := len(c.frames); n > 0 && c.frames[n-1].number <= indexed.latestFrame {
		return malformed(c.frames[n-1].commit, "frame numbers do not rise along the chain")
	}
	c.base = indexed.id
	c.latest = max(c.latest, indexed.latestFrame)
	return nil
}

// fork ends the walk at point, an entry of the parent. point is this run's frame 0, unless the
// run's first entry is.
func (c *chain) fork(first, point *snapshot.Entry) error {
	if c.run.Parent == nil {
		return malformed(c.tip, "run.json names no parent, but the chain continues another run's")
	}
	if first.Frame != snapshot.NoFrame && !first.IsView() {
		return nil
	}
	if err := c.add(0, point); err != nil {
		return err
	}
	c.frames[len(c.frames)-1].Based = nil // it names a frame of the parent
	return nil
}

func malformed(id objstore.ID, reason string) error {
	return &objstore.CorruptError{ID: id, Reason: reason}
}
