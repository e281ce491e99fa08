package writeahead

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// publishAttempts is how often a publication looks at the tips anew, because another process has moved one meanwhile.
const publishAttempts = 8

// PublishOwn publishes what this process has logged: it writes one pack and moves the refs, and then marks the entries as published.
// Entries that another process has published meanwhile are marked, too. After an error, the rest of the entries still wait.
func (l *Logs) PublishOwn(ctx context.Context) error {
	l.publishing.Lock()
	defer l.publishing.Unlock()
	return l.publishOwn(ctx)
}

// publishOwn does the work of PublishOwn. The caller holds l.publishing.
func (l *Logs) publishOwn(ctx context.Context) error {
	l.mu.Lock()
	own := l.own
	l.mu.Unlock()
	if own == nil {
		return nil
	}
	entries, err := own.read()
	if err == nil {
		err = l.publish(ctx, entries)
	}
	return errors.Join(err, l.settle(ctx, own, entries))
}

// settle forgets the entries of this process's log that are published, and marks them in the log. The caller holds l.publishing.
func (l *Logs) settle(ctx context.Context, own *ownLog, entries []*entry) error {
	if !slices.ContainsFunc(entries, func(e *entry) bool { return e.done || e.lost }) && len(entries) > 0 {
		return nil
	}
	err := own.mark(l.opts.FS, own.to, entries)
	l.mu.Lock()
	published := l.forget(own, entries)
	if l.own != nil && len(l.waiting) == 0 && !l.lost && l.own.full {
		err = errors.Join(err, l.rotate())
	}
	l.mu.Unlock()
	if published == 0 {
		return err
	}
	if l.opts.Published != nil {
		l.opts.Published(ctx, published)
	}
	return errors.Join(err, l.opts.Failpoint(FailMarked))
}

// forget removes the entries that are done or lost from those that wait, and those before the mark, which another process has
// published. It returns the number of those published. The caller holds l.mu.
func (l *Logs) forget(own *ownLog, entries []*entry) (published int) {
	mark := own.head.Unpublished().Offset()
	byEnd := make(map[int64]*entry, len(entries))
	for _, e := range entries {
		byEnd[e.End.Offset()] = e
	}
	rest := l.waiting[:0]
	for _, w := range l.waiting {
		e := byEnd[w.end]
		switch {
		case w.end <= mark, e != nil && e.done:
			published++
		case e == nil || !e.lost:
			rest = append(rest, w)
			continue
		default:
			l.lost = true
			delete(l.runs, w.tip)
			l.opts.Warn(errLost(e, own.path))
		}
		l.bytes -= w.bytes
		w.release()
	}
	clear(l.waiting[len(rest):])
	l.waiting, l.since = rest, l.clock()
	return published
}

// errLost returns the warning that entries of a run were acknowledged and follow nothing. first is the oldest of them, in the log at path.
func errLost(first *entry, path string) error {
	return fmt.Errorf("another program has moved or removed the tip of run %q: entries that were acknowledged follow nothing, and stay in %s; "+
		"after `git update-ref %s %s`, the next command publishes them", first.Run, path, fault.Word(string(first.tip)), fault.Word(first.Old.String()))
}

// publish moves the tips of runs to the newest of the entries of a log, and sets done or lost of each entry.
func (l *Logs) publish(ctx context.Context, entries []*entry) (err error) {
	for range publishAttempts {
		if err = l.publishOnce(ctx, entries); !errors.Is(err, refs.ErrConflict) {
			return err
		}
	}
	return err
}

// publishOnce tries once to publish entries. If a tip has moved meanwhile, the error is a conflict.
func (l *Logs) publishOnce(ctx context.Context, entries []*entry) error {
	var moves []*move
	for _, of := range byRun(entries) {
		m, err := l.plan(of)
		if err != nil {
			return err
		}
		if m != nil {
			moves = append(moves, m)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	batch := l.opts.Objects.Begin()
	for _, m := range moves {
		if err := m.add(batch); err != nil {
			return err
		}
	}
	return batch.Commit(ctx, func() error {
		if err := l.opts.Failpoint(FailPacked); err != nil {
			return err
		}
		for _, m := range moves {
			if err := l.apply(ctx, m); err != nil {
				return err
			}
		}
		return l.opts.Failpoint(FailMoved)
	})
}

// byRun returns the entries that are neither done nor lost, by their runs, in the order of the log.
func byRun(entries []*entry) [][]*entry {
	var all [][]*entry
	at := map[refs.Name]int{}
	for _, e := range entries {
		if e.done || e.lost {
			continue
		}
		i, ok := at[e.tip]
		if !ok {
			i = len(all)
			at[e.tip], all = i, append(all, nil)
		}
		all[i] = append(all[i], e)
	}
	return all
}

// move is the publication of entries of one run.
type move struct {
	from    objstore.ID // the value of the tip
	entries []*entry    // oldest first; each follows the one before, and the first follows from
	frames  []refs.FrameRef
}

// last returns the newest entry of m.
func (m *move) last() *entry { return m.entries[len(m.entries)-1] }

// plan returns the publication of the entries of a run that go on from its tip. It sets done of the entries that the tip reaches,
// and lost of those that follow nothing. It returns nil if nothing is left to publish.
func (l *Logs) plan(entries []*entry) (*move, error) {
	_, _, id, err := l.opts.Refs.Look(entries[0].tip)
	if err != nil {
		return nil, err
	}
	m := &move{from: id}
	if err := l.findPublished(entries, id); err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch {
		case e.done:
		case e.Old == id:
			m.entries, id = append(m.entries, e), e.New
		default:
			e.lost = true
		}
	}
	if len(m.entries) == 0 {
		return nil, nil //nolint:nilnil // nothing is left
	}
	return m, nil
}

// findPublished sets done of the entries of a run that its tip reaches. The tip has the value id.
func (l *Logs) findPublished(entries []*entry, id objstore.ID) error {
	byID, byOld := make(map[objstore.ID]*entry, len(entries)), make(map[objstore.ID]*entry, len(entries))
	for _, e := range entries {
		byID[e.New], byOld[e.Old] = e, e
	}
	left := len(entries)
	for at := byID[id]; at != nil; at = byID[at.Old] { // the tip reaches the entry, and so the entry before
		at.done = true
		left--
	}
	for at := byOld[id]; at != nil; at = byOld[at.New] { // it goes on from the tip
		left--
	}
	if left <= 0 || id.IsZero() {
		return nil
	}
	// The tip has entries that are not in the log, such as one too large for it, and may have moved on from published ones.
	tip, err := snapshot.ReadEntry(l.opts.Objects, id)
	if err != nil {
		return err
	}
	for below, err := range snapshot.Chain(l.opts.Objects, tip) {
		if err != nil {
			return err
		}
		if at := byID[below.ID]; at != nil && !at.done {
			at.done = true
			left--
		}
		if left == 0 || below.ID == entries[0].Old {
			break
		}
	}
	return nil
}

// add adds the objects of the entries to a batch, and finds their frames.
func (m *move) add(batch *objstore.Batch) error {
	batch.Sync() // refs that outlive a power cut must not name objects that do not
	m.frames = nil
	for _, e := range m.entries {
		if err := e.CheckObjects(); err != nil {
			return err
		}
		for _, o := range e.Objects {
			batch.Add(o.Kind, o.Data)
		}
		read, err := snapshot.ReadEntry(batch, e.New)
		if err == nil && read.Run != e.Run {
			err = fmt.Errorf("an entry of run %q is logged for run %q", read.Run, e.Run)
		}
		if err != nil {
			return err
		}
		if read.Frame != snapshot.NoFrame {
			m.frames = append(m.frames, refs.FrameRef{Frame: read.Frame, ID: e.New})
		}
	}
	return nil
}

// apply moves the tip along the entries of m, and makes the ref of the newest frame.
func (l *Logs) apply(ctx context.Context, m *move) error {
	tip := refs.Update{Name: m.last().tip, Old: m.from, New: m.last().New}
	updates, later := []refs.Update{tip}, m.frames
	if n := len(m.frames); n > 0 {
		name, err := refs.Frame(m.last().Run, m.frames[n-1].Frame)
		if err != nil {
			return err
		}
		updates, later = append(updates, refs.Update{Name: name, New: m.frames[n-1].ID}), m.frames[:n-1]
	}
	err := l.opts.Refs.Publish(ctx, objstore.ID{}, updates...)
	if len(updates) > 1 && inTheWay(err, updates[1]) {
		// Frames are also found without their refs, and doctor mends the ref that is in the way.
		l.opts.Warn(fmt.Errorf("the frame ref %s was not made: %w", updates[1].Name, err))
	}
	if len(updates) > 1 && aboutRef(err, updates[1].Name) {
		err = l.opts.Refs.Publish(ctx, objstore.ID{}, tip)
	}
	if err != nil {
		return err
	}
	l.published(m, later)
	return nil
}

// aboutRef reports whether err says that this ref does not have its expected value, or is broken.
func aboutRef(err error, name refs.Name) bool {
	if conflict, ok := errors.AsType[*refs.ConflictError](err); ok {
		return conflict.Name == name
	}
	broken, ok := errors.AsType[*refs.BrokenError](err)
	return ok && broken.Name == name
}

// inTheWay reports whether err says that the ref of u is broken, or has another value than u gives it.
func inTheWay(err error, u refs.Update) bool {
	conflict, ok := errors.AsType[*refs.ConflictError](err)
	return aboutRef(err, u.Name) && (!ok || conflict.Actual != u.New)
}

// published notes that the tip has moved along the entries of m. The refs of the frames in later were not made.
func (l *Logs) published(m *move, later []refs.FrameRef) {
	for _, e := range m.entries {
		e.done = true
	}
	if len(later) > 0 && l.opts.Frames != nil {
		l.opts.Frames(m.last().Run, later)
	}
}
