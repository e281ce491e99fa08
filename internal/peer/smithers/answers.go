package smithers

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/snapshot"
)

// keep finds the answers given with git-smithers that still matter to Smithers. given has the answers that
// Smithers did not have at the last import. keep sets three fields of m:
//
//   - m.here: the approvals and the answers to human requests that Smithers still asks for, and the signals that
//     untold returns.
//   - m.overruled: the answers for which Smithers has a different answer.
//   - m.dropped: the answers to questions that Smithers no longer asks.
//
// keep changes the maps of given: it removes all answers that m.here does not have.
func (m *mailbox) keep(given stored.Answers) {
	m.overruled, m.dropped = m.overrule(given), m.drop(given)
	// asked has the keys of the questions that given answers and Smithers does not.
	asked := make(map[string]bool)
	for _, a := range m.Approvals {
		asked[snapshot.Key(a.NodeID, a.Iteration)] = given.Approval(a).Status != a.Status
	}
	maps.DeleteFunc(given.Approvals, func(key string, _ snapshot.Approval) bool { return !asked[key] })
	clear(asked)
	for _, h := range m.HumanRequests {
		if given.HumanRequest(h).Status != h.Status {
			asked[snapshot.Key(h.NodeID, h.Iteration)] = true
		}
	}
	maps.DeleteFunc(given.HumanRequests, func(key string, _ snapshot.HumanRequest) bool { return !asked[key] })
	given.Signals = m.untold(given)
	m.here = given
}

// untold returns the signals of given that Smithers does not have. If Smithers received a signal since the last
// import, untold leaves out the signal of given with the same digest. If no signal has the same digest,
// untold leaves out a signal of given that isAlike accepts. Each signal of Smithers removes at most one signal
// of given. untold overwrites the array of given.Signals.
func (m *mailbox) untold(given stored.Answers) []snapshot.Signal {
	taken := make([]bool, len(m.Signals))
	for i, p := range m.Signals {
		taken[i] = given.Known[p.Signal.Digest()] // Smithers had the signal at the last import
	}
	// told returns a function that looks for a signal of Smithers that is not taken yet and matches ours. is
	// decides whether two signals match. If the function finds a signal, it marks the signal as taken and
	// returns true.
	told := func(is func(theirs, ours snapshot.Signal) bool) func(snapshot.Signal) bool {
		return func(ours snapshot.Signal) bool {
			for i, p := range m.Signals {
				if !taken[i] && is(p.Signal, ours) {
					taken[i] = true
					return true
				}
			}
			return false
		}
	}
	same := func(theirs, ours snapshot.Signal) bool { return theirs.Digest() == ours.Digest() }
	return slices.DeleteFunc(slices.DeleteFunc(given.Signals, told(same)), told(isAlike))
}

// isAlike reports whether theirs and ours can be the same signal. theirs is a signal in Smithers' database, and
// ours is a signal sent with git-smithers. They can be the same if name, correlation and payload are equal, and
// if Smithers did not receive theirs before git-smithers received ours.
func isAlike(theirs, ours snapshot.Signal) bool {
	return theirs.Name == ours.Name && stored.SameCorrelation(theirs.CorrelationID, ours.CorrelationID) &&
		theirs.ReceivedAtMs >= ours.ReceivedAtMs && stored.SameJSON(theirs.Payload, ours.Payload)
}
