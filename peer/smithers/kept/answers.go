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

// Answers are the answers given here to Smithers' questions, and the signals sent here, that Smithers does not have.
// They stay in the run's mailbox until Smithers has its own.
type Answers struct {
	Approvals     map[string]snapshot.Approval // by the keys of their rows
	HumanRequests map[string]snapshot.HumanRequest
	Signals       []snapshot.Signal // in order
	Known         map[string]bool   // digests of the signals that Smithers had at the last import
}

// AnswerKeys are the keys of answers, by collection of the mailbox.
type AnswerKeys map[string]map[string]bool

// mailCollections are the collections of the mailbox that people and programs write.
var mailCollections = []string{snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals}

func (k AnswerKeys) add(collection, key string) {
	if k[collection] == nil {
		k[collection] = make(map[string]bool)
	}
	k[collection][key] = true
}

// Keys returns the keys of all answers, or nil if there are none.
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

// AnswersAt returns the answers in the mailbox of a tip: those that existed at the last import, which known lists,
// and later ones.
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

// LastImported returns the last entry of the newest import of a run. All later entries were made here.
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

// mailRow returns the row of a collection with a key, and reports whether it exists.
func mailRow[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, ok bool, err error) {
	value, ok, err := rows.Get(key)
	if err == nil && ok {
		row, err = decode(page.Row{Key: key, Value: value})
	}
	return row, ok, err
}

// SameCorrelation compares correlation ids as Smithers does: an empty id equals nil.
func SameCorrelation(a, b *string) bool {
	text := func(id *string) string {
		if id == nil {
			return ""
		}
		return strings.TrimSpace(*id)
	}
	return text(a) == text(b)
}

// SameJSON reports whether two values differ only in white space.
func SameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// Approval returns the decision given here if Smithers still asks for this approval, or else asked.
func (a *Answers) Approval(asked snapshot.Approval) snapshot.Approval {
	here, ok := a.Approvals[snapshot.Key(asked.NodeID, asked.Iteration)]
	if !ok || asked.Status != snapshot.ApprovalRequested || here.RequestedAtMs != asked.RequestedAtMs {
		return asked
	}
	return here
}

// HumanRequest returns the answer given here if Smithers still asks this human request, or else asked.
func (a *Answers) HumanRequest(asked snapshot.HumanRequest) snapshot.HumanRequest {
	here, ok := a.HumanRequests[snapshot.Key(asked.NodeID, asked.Iteration)]
	if !ok || asked.Status != snapshot.HumanPending || here.RequestedAtMs != asked.RequestedAtMs {
		return asked
	}
	return here
}
