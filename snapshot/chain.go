package snapshot

import (
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/git-smithers/git-smithers/internal/snapshot/row"
	"github.com/git-smithers/git-smithers/objstore"
)

// Chain yields the entries of a run, newest first. It begins with the entry that the parameter from points to. It
// does not yield entries of the parent run. But if the run extends its parent, Chain also yields the entries up to
// Parent.Extension, as views: see Entry.IsView. Chain ends with the first error.
func Chain(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	return NewWalk(r, from).Entries()
}

// Ancestry yields entries as Chain does, but does not end at the first entry of a fork: it continues with the entries
// of the parent run. It begins with the entry that the parameter from points to. Run of a yielded entry is the run
// that wrote the entry or, for a view, the fork. Ancestry ends with the first error.
func Ancestry(r objstore.Reader, from *Entry) iter.Seq2[*Entry, error] {
	w := NewWalk(r, from)
	w.across = true
	return w.Entries()
}

// A Walk reads the entries of a run one by one, newest first; see Chain.
type Walk struct {
	r      objstore.Reader
	from   *Entry
	across bool // the walk continues in the parent of a fork

	lines  lines  // the runs from the run for which the walk shows entries to the run that stores the entry at
	at     *Entry // the last entry that Next returned, as stored; nil before the first call
	newest *Entry // the newest entry of at's run that the walk has read; its row names the run's parent
	forked *Entry // the result of Forked

	steps chan walkStep // the results that Ahead has read; nil without Ahead
}

// walkStep is a result of Next.
type walkStep struct {
	entry *Entry
	err   error
}

// NewWalk returns a walk whose first entry is from. from may be a view.
func NewWalk(r objstore.Reader, from *Entry) *Walk {
	w := &Walk{r: r, from: from, lines: lines{{run: from.Run}}}
	if v := from.view; v != nil {
		w.lines = v.lines
	}
	return w
}

// Next returns the next entry of the walk. The first call returns the entry given to NewWalk. Next returns nil after
// the run's first entry or, if the walk continues in parents, after the oldest entry of all. If a fork has an
// extension, the fork's first entry must follow the extension, and the extension must reach back to the frame that the
// fork was made from. Otherwise, the error wraps objstore.ErrCorrupt.
func (w *Walk) Next() (*Entry, error) {
	if w.steps != nil {
		step := <-w.steps
		return step.entry, step.err
	}
	return w.next()
}

// Ahead begins to read the next entries in another goroutine, which also calls warm for each of them, as stored, so that
// the caller finds in memory what warm has read. The caller calls stop at the end, also of an unfinished walk.
func (w *Walk) Ahead(warm func(*Entry)) (stop func()) {
	const most = 64 // entries that were read and not returned
	steps, ended := make(chan walkStep, most), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(steps)
		for more := true; more; {
			entry, err := w.next()
			if more = entry != nil; more {
				warm(entry.stored())
			}
			select {
			case steps <- walkStep{entry, err}:
			case <-ended:
				return
			}
		}
	})
	w.steps = steps
	return func() { close(ended); reading.Wait() }
}

// next implements Next.
func (w *Walk) next() (*Entry, error) {
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

// Forked returns the entry of the parent run that precedes the run's oldest entry. If the run is not a fork, or Next
// has not yet returned nil, Forked returns nil.
func (w *Walk) Forked() *Entry { return w.forked }

// step updates w.newest and w.lines for the step from w.at to before, the entry that w.at follows. ended is true if
// before belongs to the parent run and the walk must not continue in the parent. For the errors, see Next.
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
	// The extension of the first run in w.lines ends at the frame from which that run was forked. The next run in
	// w.lines may be forked from the same frame.
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

// Entries returns an iterator over the entries that Next would return from now on. It ends with the first error.
func (w *Walk) Entries() iter.Seq2[*Entry, error] {
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

// extended returns a copy of l with one more run at the end. run is the id of the added run. by is the Parent in the
// row of the last run in l, and names the added run.
func (l lines) extended(by *Parent, run string) lines {
	l = slices.Clone(l)
	l[len(l)-1].parent = by
	return append(l, line{run: run})
}

// checkEnd returns an error that wraps objstore.ErrCorrupt if l still has more than one run when no earlier entry of
// the run is left. The walk has then not reached the frame that the first run was forked from. last is the id of the
// walk's last entry.
func (l lines) checkEnd(last objstore.ID) error {
	if len(l) > 1 {
		return corrupt(last, "entry: does not follow the frame that run %q was forked from", l[0].run)
	}
	return nil
}

// shift returns the number of a frame in the last run minus the number of the same frame in the first run. If the
// difference is larger than row.MaxInteger, shift returns 0 and false.
func (l lines) shift() (sum int64, ok bool) {
	for _, one := range l[:len(l)-1] {
		if sum += one.parent.Frame; sum > row.MaxInteger {
			return 0, false
		}
	}
	return sum, true
}

// view returns e, an entry of the last run in l, as the first run in l shows the entry. If l has only one run, the
// result is e itself. Otherwise, the result is a view with the run id and the frame numbers of the first run. If the
// number of e's frame would be less than 1, the error wraps objstore.ErrCorrupt.
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
		// A base before the fork's frame 0 is not a frame of the first run. So it becomes NoFrame.
		seen.Based = new(max(*e.Based-shift, NoFrame))
		if *e.Based == NoFrame {
			*seen.Based = NoFrame
		}
	}
	return seen, nil
}
