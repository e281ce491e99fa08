package snapshot

import (
	"bytes"

	"github.com/git-smithers/git-smithers/objstore"
)

// view describes an entry of a fork's extension, as the fork shows the entry.
type view struct {
	entry *Entry // as stored
	lines lines
	shift int64 // the result of lines.shift
}

// IsView reports whether e is a view: an entry in the extension of a fork, as the fork shows the entry. The fields Run,
// Frame, Newest and Based of a view have the values of the fork. So do the fields ID, Frame and Parent in the result of
// RunRow. A view has no events, and its NextSeq is 0, because the fork's first own entry contains all events again. All
// other fields, such as ID and Parent of e itself, have the values of the stored entry.
func (e *Entry) IsView() bool { return e.view != nil }

// Stored returns the entry as it was written: e itself if e is not a view.
func (e *Entry) Stored() *Entry { return e.stored() }

// stored returns the entry as it was written: e itself if e is not a view.
func (e *Entry) stored() *Entry {
	if e.view != nil {
		return e.view.entry
	}
	return e
}

// row returns a copy of stored, the row of the run that stores the entry, as the fork shows it: with the fork's id and
// parent.
func (v *view) row(stored Run) Run {
	stored.ID, stored.Parent = v.lines[0].run, v.lines[0].parent
	return stored
}

// Renumber returns a copy of a, an attempt in the journal of e. In the copy, Frame is the number of the same frame in
// the run of e. If e is not a view, the copy equals a. See also Parent.Renumber.
func (e *Entry) Renumber(a Attempt) (Attempt, error) {
	if e.view == nil {
		return a, nil
	}
	// At first, a.Frame is a frame number of the last run in lines, which stores the entry. Each step changes a.Frame
	// to the number in the previous run of lines.
	lines := e.view.lines
	for i := len(lines) - 2; i >= 0; i-- {
		var err error
		if a, err = lines[i].parent.Renumber(e.r, a); err != nil {
			return Attempt{}, err
		}
	}
	return a, nil
}

// Renumber returns a copy of a, an attempt in the journal of an entry of the extension. In the copy, Frame is the
// number of the same frame in the fork. The copy equals a in these cases: p has no extension, a has no Frame, or a is
// from before the fork. Attempts from before a fork keep their Frame in every fork. To find out whether a is from
// before the fork, Renumber reads the journal at p.Commit from r.
func (p *Parent) Renumber(r objstore.Reader, a Attempt) (Attempt, error) {
	if p.Extension.IsZero() || a.Frame == nil || *a.Frame <= p.Frame {
		return a, nil
	}
	from, err := ReadEntry(r, p.Commit)
	if err != nil {
		return Attempt{}, err
	}
	before, err := from.Attempts()
	if err != nil {
		return Attempt{}, err
	}
	// An attempt from before the fork is in the journal at p.Commit with the same content.
	row := EncodeAttempt(a)
	value, has, err := before.Get(row.Key)
	if err == nil && (!has || !bytes.Equal(value, row.Value)) {
		a.Frame = new(*a.Frame - p.Frame)
	}
	return a, err
}

// AsFrame returns entry as a run shows it. tip is the run's tip, and frame is the number of the entry in this run. If
// the run's extension contains the entry, the result is a view. Otherwise, the result is the entry itself. If frame is
// 0, the result is also the entry itself, because frame 0 of a fork is the parent's entry.
func AsFrame(r objstore.Reader, tip, entry *Entry, frame int64) (*Entry, error) {
	if frame == 0 || entry.Run == tip.Run && entry.Frame == frame {
		return entry, nil
	}
	l := lines{{run: tip.Run}}
	// The parent may be a fork with an extension, too. So the loop goes from each run to its parent.
	for at := tip.stored(); ; {
		row, err := at.RunRow()
		if err != nil || row.Parent == nil || row.Parent.Extension.IsZero() {
			return entry, err
		}
		if at, err = ReadEntry(r, row.Parent.Extension); err != nil {
			return nil, err
		}
		l = l.extended(row.Parent, at.Run)
		if shift, ok := l.shift(); ok && entry.Run == at.Run && entry.Frame-shift == frame {
			return l.view(entry)
		}
	}
}
