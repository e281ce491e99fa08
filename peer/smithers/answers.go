package smithers

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/snapshot"
)

// keep sets m.here to the answers of given that Smithers still lacks: decisions and answers to questions that
// Smithers still asks, and the signals that untold returns. It lists answers for which Smithers has a different
// answer in m.overruled, and answers to questions that Smithers no longer asks in m.dropped. keep removes from
// the maps of given all answers that m.here does not have.
func (m *mailbox) keep(given kept.Answers) {
	m.overruled, m.dropped = m.overrule(given), m.drop(given)
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

// untold returns the signals of given that Smithers does not have. It leaves out a signal that Smithers received
// since the last import: Smithers then has a signal with the same digest, or a signal that isAlike accepts. Each
// signal of Smithers accounts for at most one signal of given. untold overwrites the array of given.Signals.
func (m *mailbox) untold(given kept.Answers) []snapshot.Signal {
	taken := make([]bool, len(m.Signals))
	for i, p := range m.Signals {
		taken[i] = given.Known[p.Signal.Digest()]
	}
	// told returns a function that reports whether Smithers has a signal by the comparison is, and marks Smithers'
	// signal as taken.
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

// isAlike reports whether theirs, a signal of Smithers, can be ours, a signal sent with git-smithers: name,
// correlation and payload are equal, and theirs was not received before ours.
func isAlike(theirs, ours snapshot.Signal) bool {
	return theirs.Name == ours.Name && kept.SameCorrelation(theirs.CorrelationID, ours.CorrelationID) &&
		theirs.ReceivedAtMs >= ours.ReceivedAtMs && kept.SameJSON(theirs.Payload, ours.Payload)
}
