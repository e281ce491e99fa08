package snapshot

import (
	"fmt"
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// Chain yields the entries of a run, newest first, from the given one to the run's first. Entries of the parent
// are not part of the chain, except those of Parent.Extension, which come as views; see Entry.IsView.
func Chain(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	return NewWalk(r, from).entries()
}

// Ancestry yields the given entry and all entries before it, newest first, across forks. Each entry belongs to the
// run that wrote it or, in an extension, to the fork.
func Ancestry(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	w := NewWalk(r, from)
	w.across = true
	return w.entries()
}

// A Walk reads the entries of a run one by one, newest first; see Chain.
type Walk struct {
	r      objstore.Reader
	from   *Entry
	across bool // continue in the parent of a fork

	lines  lines
	at     *Entry // the last entry read, as stored; nil before the first
	newest *Entry // the newest entry of at's run that was read; its row names the run's parent
	forked *Entry
}

// NewWalk begins a walk at an entry, which may be a view.
func NewWalk(r objstore.Reader, from *Entry) *Walk {
	w := &Walk{r: r, from: from, lines: lines{{run: from.Run}}}
	if v := from.view; v != nil {
		w.lines = v.lines
	}
	return w
}

// Next returns the next entry, or nil after the run's first.
func (w *Walk) Next() (*Entry, error) {
	if w.at == nil {
		w.at = w.from.stored()
		w.newest = w.at
		return w.from, nil
	}
	if w.forked != nil {
		return nil, nil
	}
	if w.at.Parent.IsZero() {
		return nil, w.lines.checkEnd(w.at.ID)
	}
	before, err := ReadEntry(w.r, w.at.Parent)
	if err != nil {
		return nil, fmt.Errorf("entry before %v: %w", w.at.ID, err)
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

// Forked returns the entry of the parent that the run's first entry follows, once Next has returned nil. It is nil
// if the run is not a fork.
func (w *Walk) Forked() *Entry { return w.forked }

// step prepares the walk for before, the entry that w.at follows. ended reports whether the walk ends without it.
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

// entries yields the remaining entries, and ends with the first error.
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

// line is one run in a series of forks that extend each other.
type line struct {
	run    string
	parent *Parent // the fork from the next line's run; nil for the last
}

// lines lead from the run in which an entry is seen to the run that stores the entry: each run has the next one's
// entries as its extension. A value of lines is never modified.
type lines []line

// extended returns l with one more run, which the last run of l extends.
func (l lines) extended(by *Parent, run string) lines {
	l = slices.Clone(l)
	l[len(l)-1].parent = by
	return append(l, line{run: run})
}

// checkEnd returns an error if a walk has ended at last without reaching the frame at which an extension begins.
func (l lines) checkEnd(last objstore.ID) error {
	if len(l) > 1 {
		return corrupt(last, "entry: does not follow the frame that run %q was forked from", l[0].run)
	}
	return nil
}

// shift returns the difference between the numbers of a frame in the last run and in the first. ok is false if the
// difference is out of range.
func (l lines) shift() (sum int64, ok bool) {
	for _, one := range l[:len(l)-1] {
		if sum += one.parent.Frame; sum > row.MaxInteger {
			return 0, false
		}
	}
	return sum, true
}

// view returns e as an entry of the first run.
func (l lines) view(e *Entry) (*Entry, error) {
	if len(l) == 1 {
		return e, nil
	}
	shift, ok := l.shift()
	if !ok || e.Frame != NoFrame && e.Frame-shift < 1 {
		return nil, corrupt(e.ID, "entry: in run %q it would be before frame 1", l[0].run)
	}
	seen := &Entry{ID: e.ID, Header: e.Header, r: e.r, known: e.known, view: &view{e, l, shift}}
	seen.Run = l[0].run
	if e.Frame != NoFrame {
		seen.Frame -= shift
	}
	if e.Based != nil {
		seen.Based = new(max(*e.Based-shift, NoFrame))
		if *e.Based == NoFrame {
			*seen.Based = NoFrame
		}
	}
	return seen, nil
}
