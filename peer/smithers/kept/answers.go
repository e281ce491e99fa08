package kept

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
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

// add adds the key of an answer in a collection of the mailbox.
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

// AnswersAt returns the answers in the mailbox of tip that Smithers does not have. known has the keys of the answers
// that Smithers lacked at the last import. AnswersAt returns these answers and all answers given after that import.
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

// LastImported returns the last entry of the newest import of tip's run. git-smithers itself made all later entries.
// If the run was never imported, LastImported returns the run's first entry.
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

// readApprovals sets a.Approvals to the decisions that Smithers does not have. now is the state of the tip, and
// then is the state at the last import. known has the keys of the answers that Smithers lacked at that import. An
// approval that is decided in the state now counts if its key is in known, or if it was undecided in the state
// then and had the same request time.
func (a *Answers) readApprovals(now, then *snapshot.State, known map[string]bool) error {
	a.Approvals = make(map[string]snapshot.Approval)
	for is, err := range now.AllApprovals() {
		if err != nil {
			return err
		}
		key := snapshot.Key(is.NodeID, is.Iteration)
		was, had, err := mailRow(then.Approvals(), key, snapshot.DecodeApproval)
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

// readHumanRequests sets a.HumanRequests to the answers that Smithers does not have. A request that is no longer
// pending in the state now counts if its key is in known, or if it was pending in the state then and had the same
// request time. now, then and known are those of readApprovals.
func (a *Answers) readHumanRequests(now, then *snapshot.State, known map[string]bool) error {
	a.HumanRequests = make(map[string]snapshot.HumanRequest)
	for is, err := range now.AllHumanRequests() {
		if err != nil {
			return err
		}
		key := snapshot.Key(is.NodeID, is.Iteration)
		was, had, err := mailRow(then.HumanRequests(), key, snapshot.DecodeHumanRequest)
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

// readSignals sets a.Signals to the signals that Smithers does not have, sorted by number. A signal of the state
// now counts if the state then lacks the signal, or if its digest is in known. readSignals sets a.Known to the
// digests of all other signals of the state now. now, then and known are those of readApprovals.
func (a *Answers) readSignals(now, then *snapshot.State, known map[string]bool) error {
	a.Known = make(map[string]bool)
	for s, err := range now.AllSignals() {
		if err != nil {
			return err
		}
		_, had, err := then.Signals().Get(s.Digest())
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

// mailRow returns the decoded row with the given key. ok is false if the collection has no such row.
func mailRow[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, ok bool, err error) {
	value, ok, err := rows.Get(key)
	if err == nil && ok {
		row, err = decode(page.Row{Key: key, Value: value})
	}
	return row, ok, err
}

// SameCorrelation reports whether Smithers treats the correlation ids a and b as equal: without surrounding white
// space, and with nil as an empty id.
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

// Approval returns the decided approval that answers asked, an approval in Smithers' mailbox. It returns asked
// itself if the answers have no decision for asked, if Smithers has decided the approval, or if the decision is
// for an earlier or later request.
func (a *Answers) Approval(asked snapshot.Approval) snapshot.Approval {
	here, ok := a.Approvals[snapshot.Key(asked.NodeID, asked.Iteration)]
	if !ok || asked.Status != snapshot.ApprovalRequested || here.RequestedAtMs != asked.RequestedAtMs {
		return asked
	}
	return here
}

// HumanRequest returns the answered request that answers asked, a human request in Smithers' mailbox. It
// returns asked itself if the answers have none for asked, if the request is no longer pending in Smithers, or
// if the answer is for an earlier or later request.
func (a *Answers) HumanRequest(asked snapshot.HumanRequest) snapshot.HumanRequest {
	here, ok := a.HumanRequests[snapshot.Key(asked.NodeID, asked.Iteration)]
	if !ok || asked.Status != snapshot.HumanPending || here.RequestedAtMs != asked.RequestedAtMs {
		return asked
	}
	return here
}
