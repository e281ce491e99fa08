package snapshot

import (
	"bytes"

	"github.com/git-smithers/git-smithers/objstore"
)

// view describes an entry of a fork's extension, as the fork shows it.
type view struct {
	entry *Entry // as stored
	lines lines
	shift int64 // the result of lines.shift
}

// IsView reports whether e is a view: an entry in the extension of a fork, as the fork shows it. Run, Frame and
// Based are then the fork's, and so are ID, Frame and Parent of RunRow. ID, Parent and everything else are the
// stored entry's. A view has no events, and NextSeq in its row is 0, because the fork's first own entry
// contains all events again.
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

// row returns the run's stored row as the fork shows it: with the fork's id and parent.
func (v *view) row(row Run) Run {
	row.ID, row.Parent = v.lines[0].run, v.lines[0].parent
	return row
}

// Renumber returns a copy of the attempt a, which is in the entry's journal, with Frame as the entry's run counts
// frames. If e is not a view, Renumber returns a unchanged; see also Parent.Renumber.
func (e *Entry) Renumber(a Attempt) (Attempt, error) {
	if e.view == nil {
		return a, nil
	}
	lines := e.view.lines
	for i := len(lines) - 2; i >= 0; i-- {
		var err error
		if a, err = lines[i].parent.Renumber(e.r, a); err != nil {
			return Attempt{}, err
		}
	}
	return a, nil
}

// Renumber returns a copy of the attempt a, which is in the extension's journal, with Frame as the fork counts
// frames. It returns a unchanged if p has no extension, if a has no Frame, or if the attempt is from before the fork:
// attempts from before a fork keep their Frame in every fork. Renumber reads the journal at p.Commit from r.
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
	row := EncodeAttempt(a)
	value, has, err := before.Get(row.Key)
	if err == nil && (!has || !bytes.Equal(value, row.Value)) {
		a.Frame = new(*a.Frame - p.Frame)
	}
	return a, err
}

// AsFrame returns entry as the run of tip shows it. tip is the run's tip, and frame is the number that the entry has
// as a frame of the run. The result is a view if the entry is in the run's extension, and entry itself otherwise.
// Frame 0 of a fork is the parent's entry.
func AsFrame(r objstore.Reader, tip, entry *Entry, frame int64) (*Entry, error) {
	if frame == 0 || entry.Run == tip.Run && entry.Frame == frame {
		return entry, nil
	}
	l := lines{{run: tip.Run}}
	// Each extension may be followed by another one, which the parent has with its own parent.
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
