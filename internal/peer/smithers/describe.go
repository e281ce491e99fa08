package smithers

import (
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// The values of stored.Mark.What. markContent and markXML name the column whose hash is wrong. markFrame means that the
// rendered tree cannot be used.
const (
	markContent = "content_hash"
	markXML     = "xml_hash"
	markFrame   = "frame"
)

// describe returns a note about one frame: what the repository keeps of its snapshot, and the marks of the frame. A mark
// says that a hash in a row does not match the data, or that the tree cannot be used. s is the frame's snapshot, and
// one has the frame's facts. differs has the differences of the snapshot's texts from the texts that Write makes. wrong
// is the reason why the frame does not have Smithers' tree, or nil. tree is the frame's rendered tree in the database.
func (r *runPass) describe(tree string, s *source.Snapshot, one tables.FrameFacts, differs contents.Shape, wrong error) (note frameNote, err error) {
	row := &note.row
	mark := func(what, kept, found string) {
		note.marks = append(note.marks, stored.Mark{Frame: one.Frame, PeerNo: one.PeerNo, What: what, Stored: kept, Found: found})
	}
	if one.PeerNo != one.Frame {
		row.PeerNo = &one.PeerNo
	}
	if s.Layout != source.Compact {
		row.Layout = s.Layout
	}
	if !differs.IsZero() {
		row.Shape = &differs
	}
	if one.ContentHash != s.ContentHash {
		mark(markContent, s.ContentHash, one.ContentHash)
	}
	if note.snapshot, err = dbrow.KeepOne(tables.WithoutContents(*r.Tx.Table(tables.Snapshots)), s.Row, r.At); err != nil {
		return note, err
	}
	actual, has := r.Trees.Rows[one.PeerNo]
	if !has {
		return note, nil
	}
	// A tree that cannot be used has no hash to compare.
	if kept := dbrow.TextOf(actual, "xml_hash"); wrong != nil {
		mark(markFrame, kept, strings.ReplaceAll(wrong.Error(), source.ErrDamaged.Error()+": ", ""))
	} else if found := source.XMLHash(tree); kept != found {
		mark(markXML, kept, found)
	}
	return note, nil
}

// frameNote has what the repository keeps of a frame beside its state.
type frameNote struct {
	row      stored.FrameRow
	snapshot []byte        // the row of _smithers_snapshots without the four texts, as dbrow.KeepOne writes it
	marks    []stored.Mark // differences between stored and computed values
}
