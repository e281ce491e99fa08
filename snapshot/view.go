package snapshot

import (
	"bytes"

	"github.com/git-smithers/git-smithers/objstore"
)

// view describes an entry that is shown as an entry of a fork whose extension contains it.
type view struct {
	entry *Entry // as stored
	lines lines
	shift int64 // the result of lines.shift
}

// IsView reports whether the entry is in the extension of a fork and is shown as the fork's. Run, Frame and Based
// are then the fork's, and so are the id, the frame and the parent in RunRow. ID, Parent and everything else are
// the stored entry's. A view has no events and NextSeq 0, because the fork's first own entry contains all events
// again.
func (e *Entry) IsView() bool { return e.view != nil }

// Stored returns the entry as it was written. It is e itself unless e is a view.
func (e *Entry) Stored() *Entry { return e.stored() }

func (e *Entry) stored() *Entry {
	if e.view != nil {
		return e.view.entry
	}
	return e
}

// row returns a stored row of the run as the fork shows it.
func (v *view) row(row Run) Run {
	row.ID, row.NextSeq, row.Parent = v.lines[0].run, 0, v.lines[0].parent
	row.Frame = max(row.Frame-v.shift, 0)
	return row
}

// Renumber converts the frame number of an attempt in the entry's journal to the numbers of the entry's run; see
// Parent.Renumber.
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

// Renumber converts the frame number of an attempt in the extension's journal to the fork's numbers. An attempt
// from before the fork keeps its number, as in every fork.
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

// AsFrame returns entry, which was found as the given frame of tip's run, as that run shows it: a view if the
// frame is in the run's extension, otherwise the entry itself. Frame 0 of a fork is the parent's entry. tip is the
// run's tip.
func AsFrame(r objstore.Reader, tip, entry *Entry, frame int64) (*Entry, error) {
	if frame == 0 || entry.Run == tip.Run && entry.Frame == frame {
		return entry, nil
	}
	l := lines{{run: tip.Run}}
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
