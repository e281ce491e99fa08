package smithers

import (
	"cmp"
	"slices"

	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/snapshot"
)

// Overruled is an answer given here that did not reach Smithers before Smithers got a different one. From then on
// Smithers' answer counts. The answer given here stays in the earlier entries.
type Overruled struct {
	NodeID      string `json:"nodeId"`
	Iteration   int    `json:"iteration"`
	RequestKind string `json:"requestKind"` // approval, or the kind of a human request: ask, confirm, select, json
	Here        string `json:"here"`        // the status given here: approved, denied, answered, cancelled
	Smithers    string `json:"smithers"`    // the status in Smithers
}

// overrule returns the answers given here for which Smithers has different ones.
func (m *mailbox) overrule(given kept.Answers) (list []Overruled) {
	for _, is := range m.Approvals {
		here, ok := given.Approvals[snapshot.Key(is.NodeID, is.Iteration)]
		if ok && is.Status != snapshot.ApprovalRequested && is.Status != here.Status {
			list = append(list, Overruled{is.NodeID, is.Iteration, "approval", here.Status, is.Status})
		}
	}
	for _, is := range m.HumanRequests {
		here, ok := given.HumanRequests[snapshot.Key(is.NodeID, is.Iteration)]
		same := is.Status == here.Status && (is.Response == nil && here.Response == nil || kept.SameJSON(is.Response, here.Response))
		if ok && here.RequestedAtMs == is.RequestedAtMs && is.Status != snapshot.HumanPending && !same {
			list = append(list, Overruled{is.NodeID, is.Iteration, here.Kind, here.Status, is.Status})
		}
	}
	return list
}

// Dropped is an answer given here that did not reach Smithers and no longer answers a question of Smithers: the
// question is gone or was asked again. The answer stays in the earlier entries.
type Dropped struct {
	NodeID      string `json:"nodeId"`
	Iteration   int    `json:"iteration"`
	RequestKind string `json:"requestKind"` // as in Overruled
	Here        string `json:"here"`
	AskedAgain  bool   `json:"askedAgain"`
}

// drop returns the answers given here to questions that Smithers no longer asks. It removes the dropped answers to
// human requests from given.
func (m *mailbox) drop(given kept.Answers) (list []Dropped) {
	for key, here := range given.Approvals {
		is := m.approvalOf(key)
		if is != nil && (is.Status != snapshot.ApprovalRequested || is.RequestedAtMs == here.RequestedAtMs) {
			continue
		}
		list = append(list, Dropped{here.NodeID, here.Iteration, "approval", here.Status, is != nil})
	}
	for key, here := range given.HumanRequests {
		newest, decided := m.requestsOf(key, here.RequestedAtMs)
		if decided || newest != nil && newest.RequestedAtMs == here.RequestedAtMs {
			continue
		}
		list = append(list, Dropped{here.NodeID, here.Iteration, here.Kind, here.Status, newest != nil})
		delete(given.HumanRequests, key) // Smithers may still have the older question
	}
	slices.SortFunc(list, func(a, b Dropped) int {
		return cmp.Or(cmp.Compare(a.NodeID, b.NodeID), cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.RequestKind, b.RequestKind))
	})
	return list
}

// approvalOf returns Smithers' approval with a key, or nil.
func (m *mailbox) approvalOf(key string) *snapshot.Approval {
	for i, a := range m.Approvals {
		if snapshot.Key(a.NodeID, a.Iteration) == key {
			return &m.Approvals[i]
		}
	}
	return nil
}

// requestsOf returns Smithers' newest human request with a key, or nil. decided reports whether the request made at
// atMs has been answered or cancelled.
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
