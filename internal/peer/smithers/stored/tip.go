package stored

import (
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// ReadPass returns the progress of the run's import at e. It returns the zero Pass if the run was never imported. A
// fork begins with the Pass of its parent.
func ReadPass(e *snapshot.Entry) (Pass, error) {
	var p Pass
	data, err := e.ExtFile(Engine, extPass)
	if err != nil || data == nil {
		return p, err
	}
	return p, decodeJSON(extPass, string(data), &p)
}

// Tip is the tip of a run, with the run's data of Smithers.
type Tip struct {
	Entry    *snapshot.Entry
	Row      snapshot.Run
	Peer     *Peer
	Exact    bool // the run is unchanged since a complete import, and has no answers that Smithers does not have
	Imported bool // an import made some of the run's own entries; if false, Peer may be about frames of the run's parent
}

// ReadTip reads the tip of a run. entry is the run's newest entry. The field Imported is set if the run has its
// own Pass, other than the Pass of its parent. The field Exact is set if this Pass is of a complete import,
// Smithers lacks no answers, and entry is the first entry with this Pass.
func ReadTip(s *timeline.Store, entry *snapshot.Entry) (*Tip, error) {
	x := &Tip{Entry: entry}
	var err error
	if x.Row, err = entry.RunRow(); err != nil {
		return nil, err
	}
	if x.Peer, err = ReadPeer(entry); err != nil {
		return nil, err
	}
	objects := s.Objects()
	// A fork begins with the Pass of its parent, and was imported only if its own Pass differs.
	if x.Imported = x.Peer.Pass != (Pass{}); x.Imported && x.Row.Parent != nil {
		parent, err := snapshot.ReadEntry(objects, x.Row.Parent.Commit)
		if err != nil {
			return nil, err
		}
		has, err := ReadPass(parent)
		if err != nil {
			return nil, err
		}
		x.Imported = has != x.Peer.Pass
	}
	if !x.Imported {
		return x, nil
	}
	// Pass.Rows is empty if a watch left rows to a later pass.
	x.Exact = x.Peer.Pass.Rows != "" && len(x.Peer.Answers) == 0 && !x.Peer.Pass.IsOlder()
	if !x.Exact {
		return x, nil
	}
	// The walk yields entry first and then the entry before.
	walk := snapshot.NewWalk(objects, entry)
	for range 2 {
		earlier, err := walk.Next()
		if err != nil {
			return nil, err
		}
		if earlier == nil || earlier == entry {
			continue
		}
		before, err := ReadPass(earlier)
		if err != nil {
			return nil, err
		}
		x.Exact = before != x.Peer.Pass // an equal Pass means that git-smithers made entry after the import
	}
	return x, nil
}

// InWorkingCopy reports whether the root of the run's paths was the top of a working copy at the import. A fork
// that was never imported has the result of its parent.
func (x *Tip) InWorkingCopy(s *timeline.Store) (bool, error) {
	if x.Row.VCSType != "" || x.Imported || x.Row.Parent == nil {
		return x.Row.VCSType != "", nil
	}
	parent, err := snapshot.ReadEntry(s.Objects(), x.Row.Parent.Commit)
	if err != nil {
		return false, err
	}
	from, err := ReadTip(s, parent)
	if err != nil {
		return false, err
	}
	return from.InWorkingCopy(s)
}
