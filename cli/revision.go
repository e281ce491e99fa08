package cli

import (
	"github.com/git-smithers/git-smithers/cli/term"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
)

// revisionShown is how many characters of a change or commit id people see: as many
// as jj prints.
const revisionShown = 8

// shortRevision is a revision of the working copy for people: jj's change id as jj
// prints it, or the commit of git. "" where there is none.
func shortRevision(kind, commit, change string) string {
	if kind == snapshot.VCSJJ {
		return shortID(change)
	}
	return shortID(commit)
}

func shortID(id string) string { return id[:min(revisionShown, len(id))] }

// revisionCell is shortRevision in a table.
func (p painter) revisionCell(tag *jjbridge.Tag, change *string) term.Cell {
	if tag == nil {
		return term.Cell{}
	}
	return term.Cell{Text: shortRevision(tag.VCSType, tag.VCSPointer, orEmpty(change)), Paint: p.revision}
}

// revision paints a change id or a commit.
func (p painter) revision(text string) string { return p.Paint(term.Magenta, text) }
