package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/snapshot"
)

// mailbox sets the fields of r about approvals, human requests, waits and signals. It compares the state a, which is
// the earlier one, with the state b.
func (r *Result) mailbox(a, b *snapshot.State) (err error) {
	r.ApprovalsAdded, r.ApprovalsRemoved, r.ApprovalsChanged, err = compareMail(a.Approvals(), b.Approvals(), snapshot.DecodeApproval)
	if err != nil {
		return fmt.Errorf("compare approvals: %w", err)
	}
	r.HumanRequestsAdded, r.HumanRequestsRemoved, r.HumanRequestsChanged, err = compareMail(a.HumanRequests(), b.HumanRequests(), snapshot.DecodeHumanRequest)
	if err != nil {
		return fmt.Errorf("compare human requests: %w", err)
	}
	r.WaitsAdded, r.WaitsRemoved, r.WaitsChanged, err = compareMail(a.Waits(), b.Waits(), snapshot.DecodeWait)
	if err != nil {
		return fmt.Errorf("compare waits: %w", err)
	}
	if err := r.signals(a.Signals(), b.Signals()); err != nil {
		return fmt.Errorf("compare signals: %w", err)
	}
	return nil
}

// compareMail compares the collection a, which is the earlier one, with the collection b. The keys of both must be keys
// of nodes, as in the collections of approvals, human requests and waits. decode decodes a row. The results are sorted
// by the bytes of their keys. They are all nil if there is an error, and otherwise not nil.
func compareMail[T any](a, b *page.Collection, decode func(page.Row) (T, error)) (added, removed []Mail[T], changed []MailChange[T], err error) {
	added, removed, changed = []Mail[T]{}, []Mail[T]{}, []MailChange[T]{}
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return nil, nil, nil, err
		}
		from, to, err := decodeBoth(delta, decode)
		switch {
		case err != nil:
			return nil, nil, nil, err
		case delta.From == nil:
			added = append(added, Mail[T]{delta.Key, to})
		case delta.To == nil:
			removed = append(removed, Mail[T]{delta.Key, from})
		default:
			changed = append(changed, MailChange[T]{delta.Key, from, to})
		}
	}
	return added, removed, changed, nil
}

// signals compares the collection a of signals, which is the earlier one, with the collection b. It appends the
// differences to the lists of r. If a signal has the same key but other content, signals adds it to both lists: as a
// removed signal and as an added signal.
func (r *Result) signals(a, b *page.Collection) error {
	for delta, err := range page.Diff(a, b) {
		if err != nil {
			return err
		}
		from, to, err := decodeBoth(delta, snapshot.DecodeSignal)
		if err != nil {
			return err
		}
		if delta.From != nil {
			r.SignalsRemoved = append(r.SignalsRemoved, Signal{from.Seq, from.Name, from.CorrelationID, from.Payload})
		}
		if delta.To != nil {
			r.SignalsAdded = append(r.SignalsAdded, Signal{to.Seq, to.Name, to.CorrelationID, to.Payload})
		}
	}
	return nil
}

// sortMailbox sorts the lists of the mailbox: rows by node id and iteration, signals by seq and name.
func (r *Result) sortMailbox() {
	sortMail(r.ApprovalsAdded, r.ApprovalsRemoved, r.ApprovalsChanged)
	sortMail(r.HumanRequestsAdded, r.HumanRequestsRemoved, r.HumanRequestsChanged)
	sortMail(r.WaitsAdded, r.WaitsRemoved, r.WaitsChanged)
	signals := func(a, b Signal) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), strings.Compare(a.Name, b.Name)) }
	slices.SortFunc(r.SignalsAdded, signals)
	slices.SortFunc(r.SignalsRemoved, signals)
}

// sortMail sorts three lists of rows by node id and iteration.
func sortMail[T any](added, removed []Mail[T], changed []MailChange[T]) {
	mail := func(a, b Mail[T]) int { return compareKeys(a.Key, b.Key) }
	slices.SortFunc(added, mail)
	slices.SortFunc(removed, mail)
	slices.SortFunc(changed, func(a, b MailChange[T]) int { return compareKeys(a.Key, b.Key) })
}
