package smithers

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Untold has the answers given with git-smithers to a run of Smithers that have not reached Smithers: at the last
// import, Smithers still asked the question or lacked the signal. The run's mailbox has these answers.
type Untold struct {
	// Imported means that the run itself was imported. A run that was never imported, for example a fork made by
	// git-smithers, has no answers in Untold.
	Imported bool
	answers  stored.Answers
}

// ReadUntold returns the answers in the run's mailbox that have not reached Smithers. head is the run's tip. If the
// run was not imported from Smithers, the result has no answers.
func ReadUntold(s *timeline.Store, head *timeline.Head) (*Untold, error) {
	known, err := stored.ReadTip(s, head.Entry())
	if err != nil || !known.Imported {
		return &Untold{}, timeline.Explain(err)
	}
	given, err := stored.AnswersAt(s, head.Entry(), known.Peer.Answers)
	return &Untold{true, given}, timeline.Explain(err)
}

// Approval returns the decision about the approval of a node's iteration, if this decision has not reached Smithers. ok
// is false if u has no such decision.
func (u *Untold) Approval(nodeID string, iteration int) (a snapshot.Approval, ok bool) {
	a, ok = u.answers.Approvals[snapshot.Key(nodeID, iteration)]
	return a, ok
}

// HumanRequest returns the answer to the human request of a node's iteration, if this answer has not reached Smithers.
// ok is false if u has no such answer.
func (u *Untold) HumanRequest(nodeID string, iteration int) (h snapshot.HumanRequest, ok bool) {
	h, ok = u.answers.HumanRequests[snapshot.Key(nodeID, iteration)]
	return h, ok
}

// Signal returns the first signal that has not reached Smithers and that ends a wait for this name and correlation.
// If correlation is nil or points to "", only a signal without a correlation matches. ok is false if u has no such
// signal.
func (u *Untold) Signal(name string, correlation *string) (s snapshot.Signal, ok bool) {
	for _, s := range u.answers.Signals {
		if s.Name == name && stored.SameCorrelation(s.CorrelationID, correlation) {
			return s, true
		}
	}
	return s, false
}
