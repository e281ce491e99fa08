package smithers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore/page"
	"github.com/git-smithers/git-smithers/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/peer/smithers/kept"
	"github.com/git-smithers/git-smithers/peer/smithers/source"
	"github.com/git-smithers/git-smithers/peer/smithers/tables"
	"github.com/git-smithers/git-smithers/snapshot"
)

// mailRows are what arrived in a run and what it waits for in the database, oldest first.
type mailRows struct {
	approvals     []snapshot.Approval
	humanRequests []snapshot.HumanRequest
	signals       []peerSignal
	tries         [][]attemptRow // the attempts of each node that waits for a signal or a time, or has
}

// mailbox is the mailbox of the database's run with the answers that were given here meanwhile.
type mailbox struct {
	mailRows

	here      kept.Answers
	overruled []Overruled // in the order of Smithers' rows
	dropped   []Dropped
}

// peerSignal is a signal with Smithers' number. Its own follows from the state that it comes to: see numberSignals.
type peerSignal struct {
	signal snapshot.Signal
	seq    int64
}

// readMail takes the mailbox out of the rows of a run.
func readMail(rows map[string][]source.Row, attempts []attemptRow, events []peerEvent, createdAtMs int64) mailRows {
	mail := mailRows{approvals: readApprovals(rows[tables.Approvals], attempts, events, createdAtMs), tries: readTries(attempts)}
	for _, row := range rows[tables.HumanRequests] {
		if h, ok := tables.ReadHumanRequest(row); ok {
			mail.humanRequests = append(mail.humanRequests, h)
		}
	}
	have := make(map[string]bool)
	for _, row := range rows[tables.Signals] {
		s, ok := tables.ReadSignal(row)
		if !ok || have[s.Digest()] {
			continue
		}
		have[s.Digest()] = true
		mail.signals = append(mail.signals, peerSignal{s, row["seq"].Int})
	}
	return mail
}

// readApprovals reads what people are asked to approve. The gate of a task that a person does is not among it: whoever does
// the task opens it.
func readApprovals(rows []source.Row, attempts []attemptRow, events []peerEvent, createdAtMs int64) (approvals []snapshot.Approval) {
	asked := make(map[string]int64)
	for _, a := range attempts {
		key := snapshot.Key(a.attempt.NodeID, a.attempt.Iteration)
		asked[key] = max(asked[key], a.attempt.StartedAtMs)
	}
	for _, e := range events {
		if e.kind == "ApprovalRequested" {
			asked[e.node] = e.atMs
		}
	}
	for _, row := range rows {
		key := snapshot.Key(dbrow.TextOf(row, "node_id"), int(row["iteration"].Int))
		at, known := asked[key]
		if !known {
			at = createdAtMs
		}
		if a, ok := tables.ReadApproval(row, at); ok && !tables.IsHumanGate(row) {
			approvals = append(approvals, a)
		}
	}
	return approvals
}

// readTries returns the attempts of each node that waits, or has waited, for a signal or a time.
func readTries(attempts []attemptRow) (tries [][]attemptRow) {
	waits := make(map[string]bool)
	for _, a := range attempts {
		if a.wait != nil {
			waits[snapshot.Key(a.attempt.NodeID, a.attempt.Iteration)] = true
		}
	}
	at := make(map[string]int)
	for _, a := range attempts {
		key := snapshot.Key(a.attempt.NodeID, a.attempt.Iteration)
		if !waits[key] {
			continue
		}
		i, known := at[key]
		if !known {
			i = len(tries)
			at[key], tries = i, append(tries, nil)
		}
		tries[i] = append(tries[i], a)
	}
	return tries
}

// fill puts the mailbox as it was at a time into a state, with what was answered here of what Smithers still
// asks: whenever that was, since whatever is imported now comes after it here. What is not known to have been
// there later was there. had are the numbers of the signals that the state has. It returns the signals that Smithers has.
func (m *mailbox) fill(w *snapshot.Whole, atMs int64, had map[string]int64) (signals []contents.SignalSeq) {
	w.Approvals, w.HumanRequests, w.Signals = []snapshot.Approval{}, []snapshot.HumanRequest{}, []snapshot.Signal{}
	for _, a := range m.approvals {
		if a.DecidedAtMs != nil && *a.DecidedAtMs > atMs {
			a.Status, a.DecidedAtMs, a.DecidedBy, a.Note = snapshot.ApprovalRequested, nil, nil, nil
		}
		if here := m.here.Approval(a); here.Status != a.Status || a.RequestedAtMs <= atMs {
			w.Approvals = append(w.Approvals, here)
		}
	}
	m.fillHumanRequests(w, atMs)
	for _, s := range m.signals {
		if s.signal.ReceivedAtMs > atMs {
			break // seqs have no gaps
		}
		w.Signals = append(w.Signals, s.signal)
	}
	peers := len(w.Signals)
	w.Signals = append(w.Signals, m.here.Signals...)
	numberSignals(w.Signals, had)
	for i, s := range w.Signals[:peers] {
		signals = append(signals, contents.SignalSeq{Seq: s.Seq, Peer: m.signals[i].seq})
	}
	w.Waits = m.waitsAt(atMs, signals)
	return signals
}

// fillHumanRequests puts in what people had been asked. Of several questions that an agent asked for one node it is the newest.
func (m *mailbox) fillHumanRequests(w *snapshot.Whole, atMs int64) {
	at := make(map[string]int)
	for _, h := range m.humanRequests {
		if h.AnsweredAtMs != nil && *h.AnsweredAtMs > atMs {
			h.Status, h.AnsweredAtMs, h.AnsweredBy, h.Response = snapshot.HumanPending, nil, nil, nil
		}
		here := m.here.HumanRequest(h)
		if here.Status == h.Status && h.RequestedAtMs > atMs {
			continue
		}
		h = here
		key := snapshot.Key(h.NodeID, h.Iteration)
		i, known := at[key]
		if !known {
			at[key], w.HumanRequests = len(w.HumanRequests), append(w.HumanRequests, h)
		} else if h.RequestedAtMs >= w.HumanRequests[i].RequestedAtMs {
			w.HumanRequests[i] = h
		}
	}
}

// mailChanges are the changes that give a state another mailbox.
func mailChanges(state *snapshot.State, w *snapshot.Whole) ([]snapshot.Change, error) {
	empty, err := snapshot.ChangesTo(snapshot.EmptyState(), *w)
	if err != nil {
		return nil, err
	}
	want := make(map[[2]string]snapshot.Change)
	for _, c := range empty {
		want[[2]string{c.Collection, c.Key}] = c
	}
	var changes []snapshot.Change
	for collection, rows := range map[string]*page.Collection{
		snapshot.CollectionApprovals: state.Approvals(), snapshot.CollectionHumanRequests: state.HumanRequests(),
		snapshot.CollectionSignals: state.Signals(), snapshot.CollectionWaits: state.Waits(),
	} {
		for row, err := range rows.Rows() {
			if err != nil {
				return nil, err
			}
			at := [2]string{collection, row.Key}
			switch c, ok := want[at]; {
			case !ok:
				changes = append(changes, snapshot.Change{Op: snapshot.OpRemove, Collection: collection, Key: row.Key})
			case string(c.Value) == string(row.Value):
				delete(want, at)
			}
		}
	}
	for _, c := range want {
		changes = append(changes, c)
	}
	slices.SortFunc(changes, func(a, b snapshot.Change) int {
		return cmp.Or(strings.Compare(a.Collection, b.Collection), strings.Compare(a.Key, b.Key))
	})
	return changes, nil
}

// waitsAt are what the newest attempts of nodes at a time waited for then.
func (m *mailbox) waitsAt(atMs int64, signals []contents.SignalSeq) []snapshot.Wait {
	ours := make(map[int64]int64, len(signals))
	for _, s := range signals {
		ours[s.Peer] = s.Seq
	}
	waits := []snapshot.Wait{}
	for _, tries := range m.tries {
		var newest *attemptRow
		for i := range tries {
			if a := tries[i].attempt; a.StartedAtMs <= atMs && (newest == nil || a.Attempt > newest.attempt.Attempt) {
				newest = &tries[i]
			}
		}
		if newest == nil || newest.wait == nil {
			continue
		}
		if w, ok := newest.wait.Then(atMs, ours); ok {
			waits = append(waits, w)
		}
	}
	return waits
}
