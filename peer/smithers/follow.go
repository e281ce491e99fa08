package smithers

import (
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/export"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// follow sets up the line at the newest of Smithers' frames that is stored.
func (r *runPass) follow(at kept.Meeting) error {
	if r.Had != nil {
		r.followKnown(r.recalled)
		return nil
	}
	for _, f := range kept.LineTo(r.frames, at.End) {
		no := r.now.PeerNo(f.Number)
		if no == tables.NoNumber || len(r.line) >= at.Count {
			continue
		}
		one, err := r.knownFrame(f, r.Heads[len(r.line)])
		if err != nil {
			return err
		}
		if r.imported {
			r.addFrame(one)
			continue
		}
		// It is a frame of ours, and nothing is noted about what it is in the database.
		if err := r.describeOurs(f, one); err != nil {
			return err
		}
	}
	if !r.imported || at.Count == 0 || at.Count == len(r.Heads) && !r.journal.leftMore(r.Attempts, r.Heads[at.Count-1].AtMs) {
		return nil
	}
	no := r.Heads[at.Count-1].Frame
	s, err := r.Snapshot(no)
	if err != nil {
		return err
	}
	r.last, r.before = s.Row, &workcopy.Moment{AtMs: s.AtMs, Pointer: dbrow.TextOf(s.Row, "vcs_pointer")}
	r.tree = r.Trees.InflateTo(no)
	for _, one := range slices.Backward(r.line) {
		if row, ok := r.Trees.Rows[one.PeerNo]; ok {
			r.lastRow = row
			r.lastTree, err = treeOf(r.im.store, r.frames[one.Frame].Entry)
			return err
		}
	}
	return nil
}

// knownFrame is a frame of the line that is stored, without its tree. Hashes that do not match are marked.
func (r *runPass) knownFrame(f kept.Frame, head source.Head) (tables.FrameFacts, error) {
	one := tables.FrameFacts{Frame: f.Number, PeerNo: head.Frame, AtMs: f.Entry.AtMs, ContentHash: head.ContentHash}
	row, has := r.Trees.Rows[head.Frame]
	one.XMLHash = dbrow.TextOf(row, "xml_hash")
	for _, m := range r.now.Marks {
		switch {
		case m.Frame != f.Number:
		case m.What == markContent:
			one.ContentHash = m.Found
		default:
			has = false
		}
	}
	if has && r.imported {
		return one, nil
	}
	tree, err := treeOf(r.im.store, f.Entry)
	one.XMLHash = ""
	if tree != "" {
		one.XMLHash = source.XMLHash(tree)
	}
	return one, err
}

// describeOurs notes how the rows of a frame of ours differ from the predicted ones.
func (r *runPass) describeOurs(f kept.Frame, one tables.FrameFacts) (err error) {
	s, err := r.Snapshot(one.PeerNo)
	if err != nil {
		return err
	}
	state, err := f.Entry.State()
	if err != nil {
		return err
	}
	w, err := contents.WholeOf(state)
	if err != nil {
		return err
	}
	numbers, err := signalNumbers(state)
	if err != nil {
		return err
	}
	var signals []contents.SignalSeq
	for _, known := range r.Mail.Signals {
		if seq, ok := numbers[known.Signal.Digest()]; ok {
			signals = append(signals, contents.SignalSeq{Seq: seq, Peer: known.Seq})
		}
	}
	if one.Tree, err = treeOf(r.im.store, f.Entry); err != nil {
		return err
	}
	tree, wrong := r.Trees.Inflate(r.tree, one.PeerNo)
	r.tree, one.ContentHash = tree, source.ContentHash(s.Contents)
	note, err := r.drafter().describe(&r.lineEnd, s, one, contents.ShapeOf(r.ID, s.Contents, w, signals, r.now.Layout), wrong)
	if err != nil {
		return err
	}
	r.note(one.Frame, note)
	r.out.Marks = append(r.out.Marks, note.marks...)
	r.addFrame(one)
	r.last, r.before = s.Row, &workcopy.Moment{AtMs: s.AtMs, Pointer: dbrow.TextOf(s.Row, "vcs_pointer")}
	return nil
}

// treeOf is the rendered tree of an entry that is stored; "" for none.
func treeOf(store *timeline.Store, entry *snapshot.Entry) (string, error) {
	tree, err := store.Rendered(entry)
	if string(tree) == export.NoTree {
		return "", err
	}
	return string(tree), err
}
