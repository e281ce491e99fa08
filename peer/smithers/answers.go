package smithers

import (
	"maps"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/snapshot"
)

// keep takes over the answers given here. It leaves out answers to questions that Smithers no longer asks, and
// signals that Smithers has. It records the answers that Smithers overrules or drops.
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

// untold returns the signals that were sent here and that Smithers does not have. If Smithers received the same
// signal since the last import, that signal counts as the earliest one sent here that it matches.
func (m *mailbox) untold(given kept.Answers) []snapshot.Signal {
	taken := make([]bool, len(m.Signals))
	for i, p := range m.Signals {
		taken[i] = given.Known[p.Signal.Digest()]
	}
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

// isAlike reports whether a signal of Smithers can be a signal that was sent here.
func isAlike(theirs, ours snapshot.Signal) bool {
	return theirs.Name == ours.Name && kept.SameCorrelation(theirs.CorrelationID, ours.CorrelationID) &&
		theirs.ReceivedAtMs >= ours.ReceivedAtMs && kept.SameJSON(theirs.Payload, ours.Payload)
}
