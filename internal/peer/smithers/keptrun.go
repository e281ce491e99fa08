package smithers

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/timeline"
)

// keptRun is the part of a run that the repository has before a pass. The method open reads the keptRun. From then
// on, the pass does not change the keptRun.
type keptRun struct {
	head     *timeline.Head // nil if the repository does not have the run
	frames   []stored.Frame // all frames by number: see stored.FramesOf
	was      *stored.Peer   // the stored ext/smithers
	imported bool           // an earlier import made some of the run's own entries
	hidden   bool           // the result of hidesImported
}
