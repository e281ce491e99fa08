package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// lineStep is a step of a line: its next entries, and the state of the line after them.
type lineStep struct {
	passing []snapshot.Draft // earlier entries, for files that the draft does not have
	draft   snapshot.Draft
	upTo    int // number of the database's events that are stored after the step
	journal journalStep
	frame   *frameStep // nil if the draft has no frame of Smithers
}

// frameStep is the state of a line after a frame of Smithers.
type frameStep struct {
	facts tables.FrameFacts // without the tree, which is in end
	note  frameNote
	pass  *kept.Pass // the progress of the import, if the frame records it; else nil
	end   lineEnd
}

// frameNote is how the rows of a frame differ from the predicted ones.
type frameNote struct {
	row   kept.FrameRow
	marks []kept.Mark // differences between stored and computed values
}
