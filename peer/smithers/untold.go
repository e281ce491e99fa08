package smithers

import (
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Untold is the answers given here to a run of Smithers that have not reached Smithers: at the last import Smithers
// still asked, or lacked the signal. The run's mailbox has these answers.
type Untold struct {
	// Imported reports whether the run itself was imported. If not, for example for a fork made here, there are no
	// answers.
	Imported bool
	answers  kept.Answers
}

// ReadUntold reads the answers for a run that have not reached Smithers.
func ReadUntold(s *timeline.Store, head *timeline.Head) (*Untold, error) {
	known, err := kept.ReadTip(s, head.Entry())
	if err != nil || !known.Imported {
		return &Untold{}, timeline.Explain(err)
	}
	given, err := kept.AnswersAt(s, head.Entry(), known.Peer.Answers)
	return &Untold{true, given}, timeline.Explain(err)
}

// Approval returns the decision given here. ok is false if there is none, or if Smithers knows it.
func (u *Untold) Approval(nodeID string, iteration int) (a snapshot.Approval, ok bool) {
	a, ok = u.answers.Approvals[snapshot.Key(nodeID, iteration)]
	return a, ok
}

// HumanRequest returns the answer given here to a human request. ok is false if there is none, or if Smithers knows
// it.
func (u *Untold) HumanRequest(nodeID string, iteration int) (h snapshot.HumanRequest, ok bool) {
	h, ok = u.answers.HumanRequests[snapshot.Key(nodeID, iteration)]
	return h, ok
}

// Signal returns the first signal sent here that ends a wait for the name and correlation. ok is false if there is
// none.
func (u *Untold) Signal(name string, correlation *string) (s snapshot.Signal, ok bool) {
	for _, s := range u.answers.Signals {
		if s.Name == name && kept.SameCorrelation(s.CorrelationID, correlation) {
			return s, true
		}
	}
	return s, false
}
