package smithers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/contents"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrun"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/snapshot"
)

// mailbox is the mailbox of the run in the database, with the answers given with git-smithers that Smithers lacks.
type mailbox struct {
	dbrun.Mail

	here      stored.Answers    // the answers that Smithers lacks and still asks for
	overruled []OverruledAnswer // in the order of Smithers' rows
	dropped   []DroppedAnswer   // sorted by node, iteration and kind
}

// fill sets the mailbox of w to the mailbox at the time atMs. The mailbox has the requests, signals and waits of
// Smithers that began by atMs. A request that was decided after atMs is undecided. The mailbox also has all answers of
// m.here, even those given after atMs, because the new entries follow these answers in the repository.
//
// had has the numbers of the signals in the previous state, by digest. fill returns both numbers of each signal
// that Smithers had by atMs: git-smithers' number and Smithers' number.
func (m *mailbox) fill(w *snapshot.Whole, atMs int64, had map[string]int64) (signals []contents.SignalSeq) {
	w.Approvals, w.HumanRequests, w.Signals = []snapshot.Approval{}, []snapshot.HumanRequest{}, []snapshot.Signal{}
	for _, a := range m.Approvals {
		if a.DecidedAtMs != nil && *a.DecidedAtMs > atMs {
			a.Status, a.DecidedAtMs, a.DecidedBy, a.Note = snapshot.ApprovalRequested, nil, nil, nil
		}
		// If the status differs, here has an answer from m.here, which counts at any time.
		if here := m.here.Approval(a); here.Status != a.Status || a.RequestedAtMs <= atMs {
			w.Approvals = append(w.Approvals, here)
		}
	}
	m.fillHumanRequests(w, atMs)
	for _, s := range m.Signals {
		if s.Signal.ReceivedAtMs > atMs {
			break // the mailbox gets only the signals before the first later signal, so that the numbers have no gaps
		}
		w.Signals = append(w.Signals, s.Signal)
	}
	peers := len(w.Signals)
	w.Signals = append(w.Signals, m.here.Signals...)
	numberSignals(w.Signals, had)
	for i, s := range w.Signals[:peers] {
		signals = append(signals, contents.SignalSeq{Seq: s.Seq, Peer: m.Signals[i].Seq})
	}
	w.Waits = m.waitsAt(atMs, signals)
	return signals
}

// fillHumanRequests adds the human requests at the time atMs to w, with the answers of m.here. An agent may ask
// several questions for one iteration of a node. fillHumanRequests then adds only the newest question.
func (m *mailbox) fillHumanRequests(w *snapshot.Whole, atMs int64) {
	at := make(map[string]int)
	for _, h := range m.HumanRequests {
		if h.AnsweredAtMs != nil && *h.AnsweredAtMs > atMs {
			h.Status, h.AnsweredAtMs, h.AnsweredBy, h.Response = snapshot.HumanPending, nil, nil, nil
		}
		here := m.here.HumanRequest(h)
		// Without an answer from m.here, only a request made by atMs counts.
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

// mailChanges returns the changes that turn the mailbox of state into the mailbox of w, sorted by collection and
// key. w must be empty except for its mailbox.
func mailChanges(state *snapshot.State, w *snapshot.Whole) ([]snapshot.Change, error) {
	empty, err := snapshot.ChangesTo(snapshot.EmptyState(), *w)
	if err != nil {
		return nil, err
	}
	// want has all rows of the mailbox of w, by collection and key.
	want := make(map[[2]string]snapshot.Change)
	for _, c := range empty {
		want[[2]string{c.Collection, c.Key}] = c
	}
	// The loop removes from want the rows that state already has, so that want keeps the new and changed rows.
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

// waitsAt returns the waits at atMs. For each node, it takes the wait of the newest attempt that began by atMs, if that
// attempt has a wait. It leaves out a wait for which WaitRow.Then returns false. signals has both numbers of each
// signal. The result is never nil.
func (m *mailbox) waitsAt(atMs int64, signals []contents.SignalSeq) []snapshot.Wait {
	ours := make(map[int64]int64, len(signals))
	for _, s := range signals {
		ours[s.Peer] = s.Seq
	}
	waits := []snapshot.Wait{}
	for _, tries := range m.Tries {
		var newest *dbrun.Attempt
		for i := range tries {
			if a := tries[i].Attempt; a.StartedAtMs <= atMs && (newest == nil || a.Attempt > newest.Attempt.Attempt) {
				newest = &tries[i]
			}
		}
		if newest == nil || newest.Wait == nil {
			continue
		}
		if w, ok := newest.Wait.Then(atMs, ours); ok {
			waits = append(waits, w)
		}
	}
	return waits
}
