package smithers

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// lineStep is one step of a line: the next entries of the line, and the state of the line after these entries.
type lineStep struct {
	passing []snapshot.Draft // the entries before draft, with files that draft does not have
	draft   snapshot.Draft
	upTo    int // the number of the database's events that are stored after the step
	journal journalStep
	frame   *frameStep // nil if draft does not store a frame of Smithers
}

// frameStep is the state of a line after a frame of Smithers.
type frameStep struct {
	facts tables.FrameFacts // the facts of the frame without the tree, which is in end
	note  frameNote
	pass  *stored.Pass // the progress of the import, if the frame records the progress; else nil
	end   lineEnd
}

// frameNote has what the repository keeps of a frame beside its state.
type frameNote struct {
	row      stored.FrameRow
	snapshot []byte        // the row of _smithers_snapshots without the four texts, as dbrow.KeepOne writes it
	marks    []stored.Mark // differences between stored and computed values
}
