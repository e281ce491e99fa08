package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/timeline"
)

// keptRun is what the repository has of a run before a pass, which reads it in open, and then only looks at it.
type keptRun struct {
	head     *timeline.Head // nil for a run that is to be made
	frames   []kept.Frame
	was      *kept.Peer // as it is stored
	imported bool       // something of the run was imported before
	hidden   bool       // an undo here went back to before what was imported: see hidesImported
	recalled *knownRows // what the watch knew of the run's rows at the run's tip
}
