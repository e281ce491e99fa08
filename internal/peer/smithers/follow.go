package smithers

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/export"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/workcopy"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// follow sets r.line to Smithers' frames on the line of the repository that ends at at.End. If another frame, or files
// of attempts, can follow these frames, it also sets the end of the line.
//
//   - If the run was never imported, git-smithers made the frames. follow describes each frame with describeOurs,
//     which also sets the end of the line. It does the same if an earlier version imported the run.
//   - In every other case, follow reads the end of the line from the rows of the newest of these frames. It does
//     this only if another frame of Smithers follows, or if attempts have left files since.
func (r *runPass) follow(at stored.Meeting) error {
	for _, f := range stored.LineTo(r.frames, at.End) {
		no := r.now.PeerNo(f.Number)
		if no == tables.NoNumber || len(r.line) >= at.Count {
			continue
		}
		one, err := r.knownFrame(f, r.Heads[len(r.line)])
		if err != nil {
			return err
		}
		if r.imported && !r.was.Pass.IsOlder() {
			r.addFrame(one)
			continue
		}
		// No import has described the frame: git-smithers made it, and an export wrote its rows. Or an earlier version did.
		if err := r.describeOurs(f, one); err != nil {
			return err
		}
	}
	// The end of the line is needed only before another frame, or if attempts have left files since the last frame.
	if r.before != nil || !r.imported || at.Count == 0 || at.Count == len(r.Heads) && !r.journal.leftMore(r.Attempts, r.Heads[at.Count-1].AtMs) {
		return nil
	}
	no := r.Heads[at.Count-1].Frame
	s, err := r.Snapshot(no)
	if err != nil {
		return err
	}
	r.before = &workcopy.Moment{AtMs: s.AtMs, Pointer: dbrow.TextOf(s.Row, "vcs_pointer")}
	r.tree = r.Trees.InflateTo(no)
	return nil
}

// knownFrame returns the facts of f, a stored frame, without the tree. head is Smithers' snapshot of the frame. The
// content hash is that of head or, if the frame has a mark about its contents, the computed hash in the mark.
//
// The hash of the tree is that of Smithers' row in _smithers_frames. If the tree has a mark, if Smithers has no row, or
// if the run was never imported, knownFrame computes this hash from the stored tree.
func (r *runPass) knownFrame(f stored.Frame, head source.Head) (tables.FrameFacts, error) {
	one := tables.FrameFacts{Frame: f.Number, PeerNo: head.Frame, AtMs: f.Entry.AtMs, ContentHash: head.ContentHash}
	row, has := r.Trees.Rows[head.Frame]
	one.XMLHash = dbrow.TextOf(row, "xml_hash")
	for _, m := range r.now.Marks {
		switch {
		case m.Frame != f.Number:
		case m.What == markContent:
			one.ContentHash = m.Found
		default:
			// Any other mark is about the tree, so the hash must come from the stored tree.
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

// describeOurs adds f, a frame that no import has described, to the line. one has the facts of f. describeOurs records
// what is kept of the frame in r.now, and the marks also in r.out. It sets the end of the line.
func (r *runPass) describeOurs(f stored.Frame, one tables.FrameFacts) (err error) {
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
	// The texts of the snapshot have Smithers' numbers of signals, and the state has git-smithers' numbers.
	var signals []contents.SignalSeq
	for _, known := range r.Mail.Signals {
		if seq, ok := numbers[known.Signal.Digest()]; ok {
			signals = append(signals, contents.SignalSeq{Seq: seq, Peer: known.Seq})
		}
	}
	tree, wrong := r.Trees.Inflate(r.tree, one.PeerNo)
	r.tree, one.ContentHash = tree, source.ContentHash(s.Contents)
	note, err := r.describe(tree, s, one, contents.ShapeOf(r.ID, s.Contents, w, signals, r.now.Layout), wrong)
	if err != nil {
		return err
	}
	r.note(one.Frame, note)
	r.out.Marks = append(r.out.Marks, note.marks...)
	r.addFrame(one)
	r.before = &workcopy.Moment{AtMs: s.AtMs, Pointer: dbrow.TextOf(s.Row, "vcs_pointer")}
	return nil
}

// treeOf returns the rendered tree at entry, or "" if the frame has no tree.
func treeOf(store *timeline.Store, entry *snapshot.Entry) (string, error) {
	tree, err := store.Rendered(entry)
	if string(tree) == export.NoTree {
		return "", err
	}
	return string(tree), err
}
