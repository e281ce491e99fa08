package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/timeline"
)

// keptRun is the part of a run that the repository has before a pass. The method open reads it, and then the pass
// does not change it.
type keptRun struct {
	head     *timeline.Head // nil if the run is new
	frames   []kept.Frame
	was      *kept.Peer // the stored ext/smithers
	imported bool       // the run, or a part of it, was imported before
	hidden   bool       // an undo here went back to before an import: see hidesImported
	recalled *knownRows // the rows that the watch knew at the run's tip; nil if none
}
