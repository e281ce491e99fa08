package stored

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Answers are the answers to Smithers' questions, and the signals, that users of git-smithers gave and Smithers does
// not have. An answer stays in the run's mailbox until Smithers has an answer to the question.
type Answers struct {
	Approvals     map[string]snapshot.Approval     // the decisions, by the approval's key
	HumanRequests map[string]snapshot.HumanRequest // the answers, by the human request's key
	Signals       []snapshot.Signal                // sorted by number
	Known         map[string]bool                  // the digests of the signals that Smithers had at the last import
}

// AnswerKeys has the keys of answers, by the mailbox's collection. The key of a signal is its digest.
type AnswerKeys map[string]map[string]bool

// mailCollections are the collections of the mailbox that people and programs write.
var mailCollections = []string{snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals}

// add adds key, the key of an answer, to the keys of a collection of the mailbox.
func (k AnswerKeys) add(collection, key string) {
	if k[collection] == nil {
		k[collection] = make(map[string]bool)
	}
	k[collection][key] = true
}

// Keys returns the keys of all answers, or nil if a has no answers.
func (a *Answers) Keys() AnswerKeys {
	if len(a.Approvals)+len(a.HumanRequests)+len(a.Signals) == 0 {
		return nil
	}
	keys := make(AnswerKeys)
	for key := range a.Approvals {
		keys.add(snapshot.CollectionApprovals, key)
	}
	for key := range a.HumanRequests {
		keys.add(snapshot.CollectionHumanRequests, key)
	}
	for _, s := range a.Signals {
		keys.add(snapshot.CollectionSignals, s.Digest())
	}
	return keys
}

// AnswersAt returns the answers in the mailbox of tip that Smithers does not have: the answers that Smithers lacked at
// the last import, and all answers given after that import. known has the keys of the answers that Smithers lacked at
// the last import.
func AnswersAt(s *timeline.Store, tip *snapshot.Entry, known AnswerKeys) (a Answers, err error) {
	imported, err := LastImported(s, tip)
	if err != nil {
		return a, err
	}
	now, err := tip.State()
	if err != nil {
		return a, err
	}
	then := now
	if imported != tip {
		if then, err = imported.State(); err != nil {
			return a, err
		}
	}
	if err := a.readApprovals(now, then, known[snapshot.CollectionApprovals]); err != nil {
		return a, err
	}
	if err := a.readHumanRequests(now, then, known[snapshot.CollectionHumanRequests]); err != nil {
		return a, err
	}
	return a, a.readSignals(now, then, known[snapshot.CollectionSignals])
}

// LastImported returns the last entry of the newest import of tip's run. This is the oldest entry since which all
// entries have the Pass of tip, because git-smithers itself made the later entries. If the run was never imported,
// LastImported returns the run's first entry.
func LastImported(s *timeline.Store, tip *snapshot.Entry) (*snapshot.Entry, error) {
	newest, err := ReadPass(tip)
	if err != nil {
		return nil, err
	}
	last := tip
	for entry, err := range s.Chain(tip) {
		if err != nil {
			return nil, err
		}
		if of, err := ReadPass(entry); err != nil || of != newest {
			return last, err
		}
		last = entry
	}
	return last, nil
}

// readApprovals sets a.Approvals to the decisions that Smithers does not have. present is the state of the tip,
// and imported is the state at the last import. known has the keys of the answers that Smithers lacked at that
// import.
//
// Smithers lacks the decision of an approval in present in two cases. The approval's key is in known, or the approval
// was undecided in imported and had the same request time.
func (a *Answers) readApprovals(present, imported *snapshot.State, known map[string]bool) error {
	a.Approvals = make(map[string]snapshot.Approval)
	for is, err := range present.AllApprovals() {
		if err != nil {
			return err
		}
		key := snapshot.Key(is.NodeID, is.Iteration)
		was, had, err := mailRow(imported.Approvals(), key, snapshot.DecodeApproval)
		if err != nil {
			return err
		}
		asked := had && was.Status == snapshot.ApprovalRequested && was.RequestedAtMs == is.RequestedAtMs
		if is.Status != snapshot.ApprovalRequested && (asked || known[key]) {
			a.Approvals[key] = is
		}
	}
	return nil
}

// readHumanRequests sets a.HumanRequests to the answers that Smithers does not have. The parameters are those of
// readApprovals.
//
// Smithers lacks the answer of a request that is no longer pending in present in two cases. The request's key is in
// known, or the request was pending in imported and had the same request time.
func (a *Answers) readHumanRequests(present, imported *snapshot.State, known map[string]bool) error {
	a.HumanRequests = make(map[string]snapshot.HumanRequest)
	for is, err := range present.AllHumanRequests() {
		if err != nil {
			return err
		}
		key := snapshot.Key(is.NodeID, is.Iteration)
		was, had, err := mailRow(imported.HumanRequests(), key, snapshot.DecodeHumanRequest)
		if err != nil {
			return err
		}
		asked := had && was.Status == snapshot.HumanPending && was.RequestedAtMs == is.RequestedAtMs
		if is.Status != snapshot.HumanPending && (asked || known[key]) {
			a.HumanRequests[key] = is
		}
	}
	return nil
}

// readSignals sets a.Signals to the signals in present that Smithers does not have, sorted by number. Smithers does not
// have a signal if imported lacks the signal, or if the signal's digest is in known. readSignals sets a.Known to the
// digests of all other signals in present. The parameters are those of readApprovals.
func (a *Answers) readSignals(present, imported *snapshot.State, known map[string]bool) error {
	a.Known = make(map[string]bool)
	for s, err := range present.AllSignals() {
		if err != nil {
			return err
		}
		_, had, err := imported.Signals().Get(s.Digest())
		if err != nil {
			return err
		}
		if !had || known[s.Digest()] {
			a.Signals = append(a.Signals, s)
		} else {
			a.Known[s.Digest()] = true
		}
	}
	slices.SortFunc(a.Signals, func(a, b snapshot.Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}

// mailRow looks for the row with the given key in rows, and returns the row in the form that decode returns. ok is
// false if there is no such row.
func mailRow[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, ok bool, err error) {
	value, ok, err := rows.Get(key)
	if err == nil && ok {
		row, err = decode(page.Row{Key: key, Value: value})
	}
	return row, ok, err
}

// SameCorrelation reports whether Smithers treats the correlation ids a and b as equal. Smithers ignores white
// space around an id, and treats nil as an empty id.
func SameCorrelation(a, b *string) bool {
	text := func(id *string) string {
		if id == nil {
			return ""
		}
		return strings.TrimSpace(*id)
	}
	return text(a) == text(b)
}

// SameJSON reports whether a and b are valid JSON values that differ at most in white space.
func SameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// Approval returns the state of an approval in git-smithers. peer is the approval in Smithers' mailbox. If
// Smithers has not decided the approval and a has the decision of the same request, the result is the decided
// approval. Otherwise the result is peer.
func (a *Answers) Approval(peer snapshot.Approval) snapshot.Approval {
	here, ok := a.Approvals[snapshot.Key(peer.NodeID, peer.Iteration)]
	if !ok || peer.Status != snapshot.ApprovalRequested || here.RequestedAtMs != peer.RequestedAtMs {
		return peer
	}
	return here
}

// HumanRequest returns the state of a human request in git-smithers. peer is the request in Smithers' mailbox. If
// the request is still pending in Smithers and a has the answer to the same request, the result is the answered
// request. Otherwise the result is peer.
func (a *Answers) HumanRequest(peer snapshot.HumanRequest) snapshot.HumanRequest {
	here, ok := a.HumanRequests[snapshot.Key(peer.NodeID, peer.Iteration)]
	if !ok || peer.Status != snapshot.HumanPending || here.RequestedAtMs != peer.RequestedAtMs {
		return peer
	}
	return here
}
