package kept

import (
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// ReadPass reads how far the run was imported at an entry.
func ReadPass(e *snapshot.Entry) (Pass, error) {
	var p Pass
	data, err := e.ExtFile(Engine, extPass)
	if err != nil || data == nil {
		return p, err
	}
	return p, decodeJSON(extPass, string(data), &p)
}

// Tip is what the tip of a run has of Smithers.
type Tip struct {
	Entry    *snapshot.Entry
	Row      snapshot.Run
	Peer     *Peer
	Exact    bool // the run is as it was imported
	Imported bool // some of the run's own entries are from an import: what peer says about frames is about them
}

// ReadTip reads what a tip has of Smithers.
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
	// A watch was about to import the rest, or Smithers is to have what was answered here.
	x.Exact = x.Peer.Pass.Rows != "" && len(x.Peer.Answers) == 0
	if !x.Exact {
		return x, nil
	}
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
		x.Exact = before != x.Peer.Pass
	}
	return x, nil
}

// InWorkingCopy reports whether the root of the run was the top of a working copy where its paths were imported, which for
// a fork of ours is with the run that it is from.
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
