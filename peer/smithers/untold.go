package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Untold is what was answered here in a run that Smithers runs, and has not reached it: by the last import it
// still asked, and had no such signal. It is in the run's mailbox all the same.
type Untold struct {
	// Imported reports whether the run itself was imported; one that was not, such as a fork that was made here, has
	// nothing else.
	Imported bool
	answers  kept.Answers
}

// ReadUntold reads what Smithers has not been told of a run.
func ReadUntold(s *timeline.Store, head *timeline.Head) (*Untold, error) {
	known, err := kept.ReadTip(s, head.Entry())
	if err != nil || !known.Imported {
		return &Untold{}, timeline.Explain(err)
	}
	given, err := kept.AnswersAt(s, head.Entry(), known.Peer.Answers)
	return &Untold{true, given}, timeline.Explain(err)
}

// Approval is what was decided here; ok is false where Smithers knows of it, or nothing was.
func (u *Untold) Approval(nodeID string, iteration int) (a snapshot.Approval, ok bool) {
	a, ok = u.answers.Approvals[snapshot.Key(nodeID, iteration)]
	return a, ok
}

// HumanRequest is the same for what people are asked.
func (u *Untold) HumanRequest(nodeID string, iteration int) (h snapshot.HumanRequest, ok bool) {
	h, ok = u.answers.HumanRequests[snapshot.Key(nodeID, iteration)]
	return h, ok
}

// Signal is the first signal that was sent here for which a wait is over; ok is false where there is none.
func (u *Untold) Signal(name string, correlation *string) (s snapshot.Signal, ok bool) {
	for _, s := range u.answers.Signals {
		if s.Name == name && kept.SameCorrelation(s.CorrelationID, correlation) {
			return s, true
		}
	}
	return s, false
}
