package snapshot

import (
	"bytes"

	"github.com/git-smithers/git-smithers/objstore"
)

// view is what an entry is that is seen as another run's than the one it is stored as.
type view struct {
	entry *Entry
	lines lines
	shift int64 // see lines.shift
}

// IsView reports whether the entry is one of a fork's extension, as the fork has it: Run,
// Frame and Based are those of the fork, and so are the id, the frame and the parent in
// its RunRow. ID, Parent and everything else are those of the commit. It has no events:
// the fork's first own entry has them again, and its row begins to count with 0.
func (e *Entry) IsView() bool { return e.view != nil }

// Stored is the entry as its commit says, of the run that it was written as an entry of.
func (e *Entry) Stored() *Entry { return e.stored() }

func (e *Entry) stored() *Entry {
	if e.view != nil {
		return e.view.entry
	}
	return e
}

// row is a run's row as the fork has it.
func (v *view) row(row Run) Run {
	row.ID, row.NextSeq, row.Parent = v.lines[0].run, 0, v.lines[0].parent
	row.Frame = max(row.Frame-v.shift, 0)
	return row
}

// Renumber gives an attempt of the entry's journal the number that its frame has in the
// entry's run; see Parent.Renumber.
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

// Renumber gives an attempt of the extension's journal the number that its frame has in
// the fork. One from before the fork keeps what it has, as in any fork.
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

// AsFrame is the entry that was found as a frame of a run, as that run has it: a view
// where the run is a fork and the frame one of its extension. Frame 0 of a fork stays what
// it is in the run forked from. tip is the run's tip.
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
