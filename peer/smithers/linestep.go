package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// lineStep is a step of a line: the entries that come next, and how the line goes on behind them.
type lineStep struct {
	passing []snapshot.Draft // of entries before the draft's, which keep files that the draft does not have
	draft   snapshot.Draft
	upTo    int // how many of the database's events are stored then
	journal journalStep
	frame   *frameStep // nil if the draft has no frame of Smithers
}

// frameStep is how a line goes on behind a frame of Smithers.
type frameStep struct {
	facts tables.FrameFacts // without the tree: end has it
	note  frameNote
	pass  *kept.Pass // how far the run was imported, if the frame says so
	end   lineEnd
}

// frameNote is how the rows of a frame differ from the predicted ones.
type frameNote struct {
	row   kept.FrameRow
	marks []kept.Mark // differences between what the database says of the frame and what was computed
}
