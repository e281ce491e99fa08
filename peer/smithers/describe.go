package smithers

import (
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
)

// What a Mark is about.
const (
	markContent = "content_hash"
	markXML     = "xml_hash"
	markFrame   = "frame"
)

// describe notes what of a frame's rows is not as predicted, and what does not match. differs is what its contents
// differ in.
func (r *runPass) describe(s *source.Snapshot, one tables.FrameFacts, differs contents.Shape, wrong error) error {
	row := kept.FrameRow{}
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
		r.mark(one, markContent, s.ContentHash, one.ContentHash)
	}
	var err error
	if row.Snapshot, err = dbrow.DifferenceOfOne(tables.WithoutContents(*r.Tx.Table(tables.Snapshots)), tables.PredictSnapshot(one, r.last), s.Row, r.At); err != nil {
		return err
	}
	table := r.Tx.Table(tables.Frames)
	if table == nil {
		r.setFrameRow(one.Frame, row)
		return nil
	}
	actual, has := r.Trees.Rows[one.PeerNo]
	if row.Frame, err = dbrow.DifferenceOfOne(*table, tables.PredictFrame(one, r.lastRow, r.lastTree), actual, r.At); err != nil {
		return err
	}
	if stored := dbrow.TextOf(actual, "xml_hash"); has && wrong != nil {
		r.mark(one, markFrame, stored, strings.ReplaceAll(wrong.Error(), source.ErrDamaged.Error()+": ", ""))
	} else if has && stored != source.XMLHash(r.tree) {
		r.mark(one, markXML, stored, source.XMLHash(r.tree))
	}
	if has {
		r.lastRow, r.lastTree = actual, one.Tree
	}
	r.setFrameRow(one.Frame, row)
	return nil
}

func (l *runLine) setFrameRow(frame int64, row kept.FrameRow) {
	if l.now.Frames == nil {
		l.now.Frames = map[int64]kept.FrameRow{}
	}
	l.now.Frames[frame] = row
	l.described = append(l.described, frame)
}

func (r *runPass) mark(at tables.FrameFacts, what, stored, found string) {
	m := kept.Mark{Frame: at.Frame, PeerNo: at.PeerNo, What: what, Stored: stored, Found: found}
	r.now.Marks, r.out.Marks = append(r.now.Marks, m), append(r.out.Marks, m)
}
