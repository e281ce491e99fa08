package snapshot

import (
	"fmt"
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// Chain yields an entry and all earlier entries of its run, newest first. The first entry that it yields is from.
// Entries of the parent are not part of the chain, except the entries up to Parent.Extension, which come as views;
// see Entry.IsView. Chain ends with the first error.
func Chain(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	return NewWalk(r, from).entries()
}

// Ancestry yields an entry and all older entries, newest first, as Chain does, but continues in the parent of a fork.
// Run of an entry is the run that wrote the entry or, for a view, the fork. Ancestry ends with the first error.
func Ancestry(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	w := NewWalk(r, from)
	w.across = true
	return w.entries()
}

// A Walk reads the entries of a run one by one, newest first; see Chain.
type Walk struct {
	r      objstore.Reader
	from   *Entry
	across bool // the walk continues in the parent of a fork

	lines  lines  // the runs from the run that the walk shows to at's run
	at     *Entry // the last entry that Next returned, as stored; nil before the first call
	newest *Entry // the newest entry of at's run that was read; its row names the run's parent
	forked *Entry // the result of Forked
}

// NewWalk returns a walk whose first entry is from. from may be a view.
func NewWalk(r objstore.Reader, from *Entry) *Walk {
	w := &Walk{r: r, from: from, lines: lines{{run: from.Run}}}
	if v := from.view; v != nil {
		w.lines = v.lines
	}
	return w
}

// Next returns the next entry, beginning with the entry given to NewWalk. It returns nil after the run's first entry
// or, if the walk continues in parents, after the oldest entry of all. If a fork's entries do not follow its
// extension or the frame that it was forked from, the error wraps objstore.ErrCorrupt.
func (w *Walk) Next() (*Entry, error) {
	if w.at == nil {
		w.at = w.from.stored()
		w.newest = w.at
		return w.from, nil
	}
	if w.forked != nil { // the walk has ended
		return nil, nil
	}
	if w.at.Parent.IsZero() {
		return nil, w.lines.checkEnd(w.at.ID)
	}
	before, err := ReadEntry(w.r, w.at.Parent)
	if err != nil {
		return nil, fmt.Errorf("the entry before commit %v: %w", w.at.ID, err)
	}
	ended, err := w.step(before)
	if err != nil {
		return nil, err
	}
	if ended {
		w.forked = before
		return nil, nil
	}
	w.at = before
	return w.lines.view(before)
}

// Forked returns the entry of the parent that the run's first entry follows. It returns nil if the run is not a
// fork, or as long as Next has not returned nil.
func (w *Walk) Forked() *Entry { return w.forked }

// step prepares the walk for before, the entry that w.at follows: it sets w.newest and w.lines. ended is true if
// before belongs to the parent and the walk does not continue there. If before is not where the run's row or the
// extension says, the error wraps objstore.ErrCorrupt.
func (w *Walk) step(before *Entry) (ended bool, err error) {
	forked := before.Run != w.newest.Run
	if forked {
		row, err := w.newest.RunRow()
		if err != nil {
			return false, err
		}
		w.newest = before
		if p := row.Parent; p != nil && !p.Extension.IsZero() {
			if p.Extension != before.ID {
				return false, corrupt(w.at.ID, "entry: does not follow the extension that run.json names")
			}
			w.lines = w.lines.extended(p, before.Run)
			forked = false
		}
	}
	// At the frame from which the first run was forked, its extension ends. Several runs may begin at the same frame.
	for len(w.lines) > 1 && before.ID == w.lines[0].parent.Commit {
		if !w.across {
			return true, nil
		}
		w.lines = w.lines[1:]
	}
	if !forked {
		return false, nil
	}
	if err := w.lines.checkEnd(w.at.ID); err != nil || !w.across {
		return true, err
	}
	w.lines = lines{{run: before.Run}}
	return false, nil
}

// entries returns an iterator over the entries that Next would return from now on. It ends with the first error.
func (w *Walk) entries() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for {
			entry, err := w.Next()
			if err != nil {
				yield(nil, err)
				return
			}
			if entry == nil || !yield(entry, nil) {
				return
			}
		}
	}
}

// line is one run in a value of lines.
type line struct {
	run    string
	parent *Parent // the Parent in the run's row, whose run is the next line's; nil for the last line
}

// lines lists the runs from the run that shows an entry to the run that stores the entry. The extension of each
// run has the entries of the next run. A value of lines is never modified.
type lines []line

// extended returns a copy of l with one more run at the end. by is the Parent in the row of the last run of l, and
// run is the id of the added run.
func (l lines) extended(by *Parent, run string) lines {
	l = slices.Clone(l)
	l[len(l)-1].parent = by
	return append(l, line{run: run})
}

// checkEnd returns an error that wraps objstore.ErrCorrupt if l has more than one run. In that case, a walk that
// ends has not reached the frame at which an extension begins. last is the id of the walk's last entry.
func (l lines) checkEnd(last objstore.ID) error {
	if len(l) > 1 {
		return corrupt(last, "entry: does not follow the frame that run %q was forked from", l[0].run)
	}
	return nil
}

// shift returns the number of a frame in the last run minus its number in the first run. ok is false if the
// difference is larger than row.MaxInteger.
func (l lines) shift() (sum int64, ok bool) {
	for _, one := range l[:len(l)-1] {
		if sum += one.parent.Frame; sum > row.MaxInteger {
			return 0, false
		}
	}
	return sum, true
}

// view returns e, an entry of the last run, as the first run shows it. The result is e itself if l has one run,
// and a view otherwise. If e's frame would be before frame 1 of the first run, the error wraps objstore.ErrCorrupt.
func (l lines) view(e *Entry) (*Entry, error) {
	if len(l) == 1 {
		return e, nil
	}
	shift, ok := l.shift()
	if !ok || e.Frame != NoFrame && e.Frame-shift < 1 {
		return nil, corrupt(e.ID, "entry: in run %q the frame would be before frame 1", l[0].run)
	}
	seen := &Entry{ID: e.ID, Header: e.Header, r: e.r, known: e.known, view: &view{e, l, shift}}
	seen.Run, seen.Newest, seen.NextSeq = l[0].run, max(e.Newest-shift, 0), 0
	if e.Frame != NoFrame {
		seen.Frame -= shift
	}
	if e.Based != nil {
		// A base before the extension is not a frame of the first run.
		seen.Based = new(max(*e.Based-shift, NoFrame))
		if *e.Based == NoFrame {
			*seen.Based = NoFrame
		}
	}
	return seen, nil
}
