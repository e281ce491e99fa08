package snapshot

import (
	"iter"
	"slices"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/objstore/page"
)

// mailbox is what a state's nodes wait for and what has arrived: approvals, human
// requests, signals and waits. It is part of the state, and goes back with it, but
// not of its content hash, and entries that are not frames may change it.
type mailbox struct{ approvals, humanRequests, signals, waits *page.Collection }

func emptyMailbox() mailbox {
	empty := emptyCollection()
	return mailbox{empty, empty, empty, empty}
}

// at is where a mailbox has the collection of that name, which is both that in a
// state's tree and that in a Change; nil when it has none.
func (m *mailbox) at(name string) **page.Collection {
	switch name {
	case CollectionApprovals:
		return &m.approvals
	case CollectionHumanRequests:
		return &m.humanRequests
	case CollectionSignals:
		return &m.signals
	case CollectionWaits:
		return &m.waits
	}
	return nil
}

// all yields the collections by their names, sorted.
func (m *mailbox) all() iter.Seq2[string, *page.Collection] {
	return func(yield func(string, *page.Collection) bool) {
		_ = yield(CollectionApprovals, m.approvals) && yield(CollectionHumanRequests, m.humanRequests) &&
			yield(CollectionSignals, m.signals) && yield(CollectionWaits, m.waits)
	}
}

// edit makes changes, which are given by the names of their collections.
func (m *mailbox) edit(w objstore.Writer, changes map[string][]page.Change) (next mailbox, err error) {
	for name, c := range m.all() {
		if *next.at(name), err = editCollection(c, w, name, changes[name]); err != nil {
			return mailbox{}, err
		}
	}
	return next, checkSeqs(m.signals, next.signals, changes[CollectionSignals])
}

// same tells whether two mailboxes have the same ids.
func (m *mailbox) same(other *mailbox) bool {
	return m.approvals.ID() == other.approvals.ID() && m.humanRequests.ID() == other.humanRequests.ID() &&
		m.signals.ID() == other.signals.ID() && m.waits.ID() == other.waits.ID()
}

// isMailbox tells whether a Change is one of the mailbox.
func isMailbox(c Change) bool { return new(mailbox).at(c.Collection) != nil }

// Approvals is the collection of approvals, with rows for DecodeApproval.
func (s *State) Approvals() *page.Collection { return s.mail.approvals }

// HumanRequests is the collection of human requests, with rows for DecodeHumanRequest.
func (s *State) HumanRequests() *page.Collection { return s.mail.humanRequests }

// Signals is the collection of signals, with rows for DecodeSignal. Its length is the
// Seq of the next one.
func (s *State) Signals() *page.Collection { return s.mail.signals }

// Waits is the collection of waits, with rows for DecodeWait.
func (s *State) Waits() *page.Collection { return s.mail.waits }

// SameCore tells whether two states have the same nodes, outputs, loops and input,
// whatever is in their mailboxes. It reads nothing.
func SameCore(a, b *State) bool {
	return a.nodes.ID() == b.nodes.ID() && a.loops.ID() == b.loops.ID() && a.input == b.input &&
		slices.EqualFunc(a.tables, b.tables, func(a, b table) bool {
			return a.escaped == b.escaped && a.rows.ID() == b.rows.ID()
		})
}

// decoded yields the rows of a collection decoded, and ends with the first error.
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

// AllApprovals yields the approvals in the order of their keys, and ends with the first error.
func (s *State) AllApprovals() iter.Seq2[Approval, error] {
	return decoded(s.mail.approvals, DecodeApproval)
}

// AllHumanRequests yields the human requests as AllApprovals does.
func (s *State) AllHumanRequests() iter.Seq2[HumanRequest, error] {
	return decoded(s.mail.humanRequests, DecodeHumanRequest)
}

// AllSignals yields the signals as AllApprovals does: in the order of their keys.
func (s *State) AllSignals() iter.Seq2[Signal, error] { return decoded(s.mail.signals, DecodeSignal) }

// AllWaits yields the waits as AllApprovals does.
func (s *State) AllWaits() iter.Seq2[Wait, error] { return decoded(s.mail.waits, DecodeWait) }

// verify reads everything in the mailbox, but for what sound knows.
func (m *mailbox) verify(sound *Sound) error {
	decoders := map[string]func(page.Row) error{
		CollectionApprovals:     decoder(DecodeApproval),
		CollectionHumanRequests: decoder(DecodeHumanRequest),
		CollectionSignals:       decoder(DecodeSignal),
		CollectionWaits:         decoder(DecodeWait),
	}
	for name, c := range m.all() {
		var together func(known, c *page.Collection) error
		if name == CollectionSignals {
			together = verifySeqs
		}
		if err := sound.verify(name, c, decoders[name], together); err != nil {
			return err
		}
	}
	return nil
}

// decoder only checks what decode reads.
func decoder[T any](decode func(page.Row) (T, error)) func(page.Row) error {
	return func(row page.Row) error {
		_, err := decode(row)
		return err
	}
}
