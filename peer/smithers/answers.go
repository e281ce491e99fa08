package smithers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// answers are what was answered here of what Smithers asks, and the signals that were sent here. Smithers
// has none of them: they are kept in the run's mailbox until it has its own.
type answers struct {
	approvals     map[string]snapshot.Approval // by the keys of their rows
	humanRequests map[string]snapshot.HumanRequest
	signals       []snapshot.Signal // in their order
	known         map[string]bool   // digests of the signals that Smithers had by the last import
}

// answerKeys are the keys of answers, by the collection of the mailbox that they are in.
type answerKeys map[string]map[string]bool

// mailCollections are those of the mailbox that people and programs put something into.
var mailCollections = []string{snapshot.CollectionApprovals, snapshot.CollectionHumanRequests, snapshot.CollectionSignals}

func (k answerKeys) add(collection, key string) {
	if k[collection] == nil {
		k[collection] = make(map[string]bool)
	}
	k[collection][key] = true
}

// keys are the keys of all answers; nil for none.
func (a *answers) keys() answerKeys {
	if len(a.approvals)+len(a.humanRequests)+len(a.signals) == 0 {
		return nil
	}
	keys := make(answerKeys)
	for key := range a.approvals {
		keys.add(snapshot.CollectionApprovals, key)
	}
	for key := range a.humanRequests {
		keys.add(snapshot.CollectionHumanRequests, key)
	}
	for _, s := range a.signals {
		keys.add(snapshot.CollectionSignals, s.Digest())
	}
	return keys
}

// answersAt are the answers in the mailbox of a tip: those that were there when the run was last imported, which known
// names, and those that came since.
func answersAt(s *timeline.Store, tip *snapshot.Entry, known answerKeys) (a answers, err error) {
	imported, err := lastImported(s, tip)
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

// lastImported is the entry with which the newest import of a run ended. What follows it was done here.
func lastImported(s *timeline.Store, tip *snapshot.Entry) (*snapshot.Entry, error) {
	newest, err := readPass(tip)
	if err != nil {
		return nil, err
	}
	last := tip
	for entry, err := range s.Chain(tip) {
		if err != nil {
			return nil, err
		}
		if of, err := readPass(entry); err != nil || of != newest {
			return last, err
		}
		last = entry
	}
	return last, nil
}

func (a *answers) readApprovals(now, then *snapshot.State, known map[string]bool) error {
	a.approvals = make(map[string]snapshot.Approval)
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
			a.approvals[key] = is
		}
	}
	return nil
}

func (a *answers) readHumanRequests(now, then *snapshot.State, known map[string]bool) error {
	a.humanRequests = make(map[string]snapshot.HumanRequest)
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
			a.humanRequests[key] = is
		}
	}
	return nil
}

func (a *answers) readSignals(now, then *snapshot.State, known map[string]bool) error {
	a.known = make(map[string]bool)
	for s, err := range now.AllSignals() {
		if err != nil {
			return err
		}
		_, had, err := then.Signals().Get(s.Digest())
		if err != nil {
			return err
		}
		if !had || known[s.Digest()] {
			a.signals = append(a.signals, s)
		} else {
			a.known[s.Digest()] = true
		}
	}
	slices.SortFunc(a.signals, func(a, b snapshot.Signal) int { return cmp.Compare(a.Seq, b.Seq) })
	return nil
}

// mailRow is the row of a collection that has a key.
func mailRow[T any](rows *page.Collection, key string, decode func(page.Row) (T, error)) (row T, ok bool, err error) {
	value, ok, err := rows.Get(key)
	if err == nil && ok {
		row, err = decode(page.Row{Key: key, Value: value})
	}
	return row, ok, err
}

// keep takes over what was answered here, less what Smithers does not ask any more, and signals that it has been told.
// Answers that Smithers has others to, or no question to, are noted.
func (m *mailbox) keep(given answers) {
	m.overruled, m.dropped = m.overrule(given), m.drop(given)
	asked := make(map[string]bool)
	for _, a := range m.approvals {
		asked[snapshot.Key(a.NodeID, a.Iteration)] = given.approval(a).Status != a.Status
	}
	maps.DeleteFunc(given.approvals, func(key string, _ snapshot.Approval) bool { return !asked[key] })
	clear(asked)
	for _, h := range m.humanRequests {
		if given.humanRequest(h).Status != h.Status {
			asked[snapshot.Key(h.NodeID, h.Iteration)] = true
		}
	}
	maps.DeleteFunc(given.humanRequests, func(key string, _ snapshot.HumanRequest) bool { return !asked[key] })
	given.signals = m.untold(given)
	m.here = given
}

// untold are those of the signals that were sent here that Smithers has not. Where somebody sent one there since the
// last import, it is one of those that are alike, the earliest.
func (m *mailbox) untold(given answers) []snapshot.Signal {
	taken := make([]bool, len(m.signals))
	for i, p := range m.signals {
		taken[i] = given.known[p.signal.Digest()]
	}
	told := func(is func(theirs, ours snapshot.Signal) bool) func(snapshot.Signal) bool {
		return func(ours snapshot.Signal) bool {
			for i, p := range m.signals {
				if !taken[i] && is(p.signal, ours) {
					taken[i] = true
					return true
				}
			}
			return false
		}
	}
	same := func(theirs, ours snapshot.Signal) bool { return theirs.Digest() == ours.Digest() }
	return slices.DeleteFunc(slices.DeleteFunc(given.signals, told(same)), told(isAlike))
}

// isAlike reports whether a signal of Smithers' can be one that was sent here.
func isAlike(theirs, ours snapshot.Signal) bool {
	return theirs.Name == ours.Name && sameCorrelation(theirs.CorrelationID, ours.CorrelationID) &&
		theirs.ReceivedAtMs >= ours.ReceivedAtMs && sameJSON(theirs.Payload, ours.Payload)
}

// sameCorrelation compares as Smithers does, to which an empty correlation id is none.
func sameCorrelation(a, b *string) bool {
	text := func(id *string) string {
		if id == nil {
			return ""
		}
		return strings.TrimSpace(*id)
	}
	return text(a) == text(b)
}

// sameJSON reports whether two values differ in nothing but white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// approval is what was decided here of what Smithers still asks; otherwise the same.
func (a *answers) approval(asked snapshot.Approval) snapshot.Approval {
	here, ok := a.approvals[snapshot.Key(asked.NodeID, asked.Iteration)]
	if !ok || asked.Status != snapshot.ApprovalRequested || here.RequestedAtMs != asked.RequestedAtMs {
		return asked
	}
	return here
}

// humanRequest is the same for what people are asked.
func (a *answers) humanRequest(asked snapshot.HumanRequest) snapshot.HumanRequest {
	here, ok := a.humanRequests[snapshot.Key(asked.NodeID, asked.Iteration)]
	if !ok || asked.Status != snapshot.HumanPending || here.RequestedAtMs != asked.RequestedAtMs {
		return asked
	}
	return here
}
