package display

import (
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// RevisionShown is how many characters of a change id or commit id people see. jj prints the same number.
const RevisionShown = 8

// ShortRevision returns a short form of a revision of the working copy, for people. For kind jj, it shortens change,
// which is jj's change id. For any other kind, it shortens commit, which is git's commit id. The result is "" if that
// id is "".
func ShortRevision(kind, commit, change string) string {
	if kind == snapshot.VCSJJ {
		return ShortID(change)
	}
	return ShortID(commit)
}

// ShortID returns the first RevisionShown bytes of id, a change id or a commit id. It returns a shorter id unchanged.
func ShortID(id string) string { return id[:min(RevisionShown, len(id))] }

// RevisionCell returns a cell of a table with the short revision of tag. change is jj's change id, or nil if the
// revision has no change id. The cell is empty if tag is nil.
func (p Painter) RevisionCell(tag *jjbridge.Tag, change *string) term.Cell {
	if tag == nil {
		return term.Cell{}
	}
	return term.Cell{Text: ShortRevision(tag.VCSType, tag.VCSPointer, OrEmpty(change)), Paint: p.Revision}
}

// Revision paints text in magenta. text is a change id or a commit id.
func (p Painter) Revision(text string) string { return p.Paint(term.Magenta, text) }
