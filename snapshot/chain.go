package snapshot

import (
	"fmt"
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot/row"
)

// Chain yields the entries of a run, newest first, from one of them to the run's first.
// The entries of the run that it was forked from are not part of it, but for those of
// Parent.Extension: these come as views; see Entry.IsView.
func Chain(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	return NewWalk(r, from).entries()
}

// Ancestry yields the entries from one to the first, newest first, across forks. What a
// fork goes on from is of the run that it was forked from.
func Ancestry(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	w := NewWalk(r, from)
	w.across = true
	return w.entries()
}

// A Walk reads a run's entries one by one, newest first; see Chain.
type Walk struct {
	r      objstore.Reader
	from   *Entry
	across bool // forks, too

	lines  lines
	at     *Entry // the entry read last, as it is stored; nil before the first
	newest *Entry // of the entries read of its run: where that comes from is in its row
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

// Next is the next entry; nil where the run's first was read.
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

// Forked is the entry before the run's first, after Next has returned nil: of the run
// that this one was forked from. It is nil for a run that is no fork.
func (w *Walk) Forked() *Entry { return w.forked }

// step takes the entry before the last one into account, and tells whether the walk ends
// before it.
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

// line is a run in whose numbers entries are seen.
type line struct {
	run    string
	parent *Parent // how it goes on in the next line; nil for the last
}

// lines lead from the run in which an entry is seen to the one that it is stored as an
// entry of, each by the extension of the one before it. They are not changed once made.
type lines []line

// extended goes on from the last line's run to the one that it extends.
func (l lines) extended(by *Parent, run string) lines {
	l = slices.Clone(l)
	l[len(l)-1].parent = by
	return append(l, line{run: run})
}

// checkEnd refuses a walk that ends before the frame from which an extension goes on.
func (l lines) checkEnd(last objstore.ID) error {
	if len(l) > 1 {
		return corrupt(last, "entry: does not follow the frame that run %q was forked from", l[0].run)
	}
	return nil
}

// shift is how much less a frame's number is in the first line's run.
func (l lines) shift() (sum int64, ok bool) {
	for _, one := range l[:len(l)-1] {
		if sum += one.parent.Frame; sum > row.MaxInteger {
			return 0, false
		}
	}
	return sum, true
}

// view is an entry as the first line's run has it.
func (l lines) view(e *Entry) (*Entry, error) {
	if len(l) == 1 {
		return e, nil
	}
	shift, ok := l.shift()
	if !ok || e.Frame != NoFrame && e.Frame-shift < 1 {
		return nil, corrupt(e.ID, "entry: as one of run %q it is before frame 1", l[0].run)
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
