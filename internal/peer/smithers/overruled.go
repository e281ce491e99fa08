package smithers

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/snapshot"
)

// OverruledAnswer is an answer given with git-smithers that did not reach Smithers before Smithers got a different
// answer. From then on, Smithers' answer counts. The overruled answer stays in the earlier entries.
type OverruledAnswer struct {
	NodeID      string `json:"nodeId"`
	Iteration   int    `json:"iteration"`
	RequestKind string `json:"requestKind"` // approval, or the kind of a human request: ask, confirm, select, json
	Here        string `json:"here"`        // the status in the repository: approved, denied, answered, cancelled
	Smithers    string `json:"smithers"`    // the status in Smithers
}

// overrule returns the answers of given for which Smithers has a different answer, in the order of Smithers' rows.
// An approval differs if Smithers has decided it with another status. A human request differs if Smithers has the
// same request, no longer pending, with another status or response.
func (m *mailbox) overrule(given stored.Answers) (list []OverruledAnswer) {
	for _, is := range m.Approvals {
		here, ok := given.Approvals[snapshot.Key(is.NodeID, is.Iteration)]
		if ok && is.Status != snapshot.ApprovalRequested && is.Status != here.Status {
			list = append(list, OverruledAnswer{is.NodeID, is.Iteration, "approval", here.Status, is.Status})
		}
	}
	for _, is := range m.HumanRequests {
		here, ok := given.HumanRequests[snapshot.Key(is.NodeID, is.Iteration)]
		same := is.Status == here.Status && (is.Response == nil && here.Response == nil || stored.SameJSON(is.Response, here.Response))
		if ok && here.RequestedAtMs == is.RequestedAtMs && is.Status != snapshot.HumanPending && !same {
			list = append(list, OverruledAnswer{is.NodeID, is.Iteration, here.Kind, here.Status, is.Status})
		}
	}
	return list
}

// DroppedAnswer is an answer given with git-smithers that did not reach Smithers, and that no longer answers a question
// of Smithers, because Smithers removed the question or asked again. The answer stays in the earlier entries.
type DroppedAnswer struct {
	NodeID      string `json:"nodeId"`
	Iteration   int    `json:"iteration"`
	RequestKind string `json:"requestKind"` // as in OverruledAnswer
	Here        string `json:"here"`        // as in OverruledAnswer
	AskedAgain  bool   `json:"askedAgain"`  // Smithers asked again; false if Smithers removed the question
}

// drop returns the answers of given that no longer answer a question of Smithers: Smithers removed the question or
// asked again. An answer to a question that Smithers has decided is not in the result. The result is sorted by
// node, iteration and kind. drop removes the dropped answers to human requests from given.HumanRequests.
func (m *mailbox) drop(given stored.Answers) (list []DroppedAnswer) {
	for key, here := range given.Approvals {
		is := m.approvalOf(key)
		if is != nil && (is.Status != snapshot.ApprovalRequested || is.RequestedAtMs == here.RequestedAtMs) {
			continue
		}
		list = append(list, DroppedAnswer{here.NodeID, here.Iteration, "approval", here.Status, is != nil})
	}
	for key, here := range given.HumanRequests {
		newest, decided := m.requestsOf(key, here.RequestedAtMs)
		if decided || newest != nil && newest.RequestedAtMs == here.RequestedAtMs {
			continue
		}
		list = append(list, DroppedAnswer{here.NodeID, here.Iteration, here.Kind, here.Status, newest != nil})
		delete(given.HumanRequests, key) // otherwise the answer would count for an older question that Smithers still has
	}
	slices.SortFunc(list, func(a, b DroppedAnswer) int {
		return cmp.Or(cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.RequestKind, b.RequestKind))
	})
	return list
}

// approvalOf returns Smithers' approval with the given key, or nil if Smithers has no such approval.
func (m *mailbox) approvalOf(key string) *snapshot.Approval {
	for i, a := range m.Approvals {
		if snapshot.Key(a.NodeID, a.Iteration) == key {
			return &m.Approvals[i]
		}
	}
	return nil
}

// requestsOf returns the newest of Smithers' human requests with the given key, or nil if Smithers has no such
// request. decided is true if Smithers has a request with this key that was made at atMs and is no longer pending.
func (m *mailbox) requestsOf(key string, atMs int64) (newest *snapshot.HumanRequest, decided bool) {
	for i, h := range m.HumanRequests {
		if snapshot.Key(h.NodeID, h.Iteration) != key {
			continue
		}
		if newest == nil || h.RequestedAtMs >= newest.RequestedAtMs {
			newest = &m.HumanRequests[i]
		}
		decided = decided || h.RequestedAtMs == atMs && h.Status != snapshot.HumanPending
	}
	return newest, decided
}
