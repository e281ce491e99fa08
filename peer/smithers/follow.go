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

// follow sets the line to Smithers' stored frames up to the meeting point, and restores what the next frame needs
// from the newest of them.
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
		// The run was never imported: the frame is ours, and its rows in the database are not described yet.
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

// knownFrame returns the facts of a stored frame without its tree. Hashes that were marked as wrong are replaced by
// the computed ones.
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

// describeOurs records how the database's rows of a frame that was made here differ from the predicted ones, and adds
// the frame to the line.
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

// treeOf returns the rendered tree stored at an entry, or "" if there is none.
func treeOf(store *timeline.Store, entry *snapshot.Entry) (string, error) {
	tree, err := store.Rendered(entry)
	if string(tree) == export.NoTree {
		return "", err
	}
	return string(tree), err
}
