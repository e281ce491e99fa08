package snapshot

import (
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
)

// Approvals returns the collection of approvals. DecodeApproval decodes its rows.
func (s *State) Approvals() *page.Collection { return s.mail.at(CollectionApprovals) }

// HumanRequests returns the collection of human requests. DecodeHumanRequest decodes its rows.
func (s *State) HumanRequests() *page.Collection { return s.mail.at(CollectionHumanRequests) }

// Signals returns the collection of signals. DecodeSignal decodes its rows. The length of the collection is the
// Seq of the next signal.
func (s *State) Signals() *page.Collection { return s.mail.at(CollectionSignals) }

// Waits returns the collection of waits. DecodeWait decodes its rows.
func (s *State) Waits() *page.Collection { return s.mail.at(CollectionWaits) }

// SameCore reports whether a and b have the same nodes, outputs, loops and input. It does not compare mailboxes. It
// compares ids, so it reads no object.
func SameCore(a, b *State) bool {
	return a.core.same(b.core) && a.input == b.input &&
		slices.EqualFunc(a.tables, b.tables, func(a, b table) bool {
			return a.escaped == b.escaped && a.rows.ID() == b.rows.ID()
		})
}

// decoded decodes each row of c with decode and yields the results in the order of the keys. It ends with the first
// error.
func decoded[T any](c *page.Collection, decode func(page.Row) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range c.Rows() {
			var v T
			if err == nil {
				v, err = decode(row)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// journalOf yields the decoded rows of a collection of an entry's journal, as decoded does.
func journalOf[T any](e *Entry, collection string, decode func(page.Row) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := e.journalRows(collection)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		decoded(rows, decode)(yield)
	}
}

// AllApprovals yields the approvals in the order of their keys, and ends with the first error.
func (s *State) AllApprovals() iter.Seq2[Approval, error] {
	return decoded(s.Approvals(), DecodeApproval)
}

// AllHumanRequests yields the human requests in the order of their keys, and ends with the first error.
func (s *State) AllHumanRequests() iter.Seq2[HumanRequest, error] {
	return decoded(s.HumanRequests(), DecodeHumanRequest)
}

// AllSignals yields the signals in the order of their keys, not of their Seqs, and ends with the first error.
func (s *State) AllSignals() iter.Seq2[Signal, error] { return decoded(s.Signals(), DecodeSignal) }

// AllWaits yields the waits in the order of their keys, and ends with the first error.
func (s *State) AllWaits() iter.Seq2[Wait, error] { return decoded(s.Waits(), DecodeWait) }
